#include "kernel/log/log_format.hpp"

namespace exrp {

uint64_t flippedBit(uint32_t syndrome, uint64_t bytes) {
  // The last bit of the last byte stands for x^32. Each bit before it for one power more. In a byte, the lowest bit comes first.
  uint32_t power = 1u << 31;
  for (int k = 0; k < 32; ++k) power = timesX(power);
  for (uint64_t fromEnd = 0; fromEnd < 8 * bytes; ++fromEnd, power = timesX(power)) {
    if (power == syndrome) return 8 * bytes - 1 - fromEnd;
  }
  return noBit;
}

uint64_t repairHead(uint8_t* head, uint32_t headBytes, uint32_t sum) {
  const uint32_t summed = headBytes - 4;
  uint32_t said = 0;
  memcpy(&said, head + summed, 4);
  const uint32_t syndrome = said ^ sum;
  if (syndrome == 0) return noBit;
  uint64_t bit = noBit;
  if ((syndrome & (syndrome - 1)) == 0) {
    bit = 8 * summed + static_cast<uint64_t>(__builtin_ctz(syndrome));  // of the checksum itself
  } else {
    bit = flippedBit(syndrome, summed);
  }
  if (bit != noBit) head[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
  return bit;
}

}  // namespace exrp
