// Scratch: written elements survive growth, new elements are zero, and growth that fails changes nothing.
#include "kernel/base/scratch.hpp"

#include <initializer_list>

#include "tests/kernel/check.hpp"

int main() {
  exrp::Scratch<uint32_t> scratch;
  CHECK_EQUAL(scratch.committed(), 0u);
  CHECK(scratch.commit(0));
  CHECK_EQUAL(scratch.committed(), 0u);
  size_t written = 0;
  for (const size_t count : {size_t{1}, size_t{3}, size_t{4}, size_t{1000}, size_t{1001}, size_t{1} << 20}) {
    CHECK(scratch.commit(count));
    CHECK(scratch.committed() >= count);
    for (size_t at = 0; at < written; ++at) CHECK_EQUAL(scratch[at], static_cast<uint32_t>(at + 1));
    for (size_t at = written; at < scratch.committed(); ++at) CHECK_EQUAL(scratch[at], 0u);
    for (; written < scratch.committed(); ++written) scratch[written] = static_cast<uint32_t>(written + 1);
  }
  const uint32_t* const before = scratch.data();
  CHECK(scratch.commit(scratch.committed()));
  CHECK(scratch.data() == before);
  CHECK(!scratch.commit(SIZE_MAX / 2));
  CHECK(scratch.data() == before);
  CHECK_EQUAL(scratch.committed(), written);
  CHECK_EQUAL(scratch[written - 1], static_cast<uint32_t>(written));
  return exrp::test::checkResult("scratch");
}
