/** HPACK: the examples of RFC 7541, appendix C, then what is hostile. */
import { assert, assertEquals, assertStrictEquals } from "../../_assert.ts";
import type { HeaderList } from "../../../net/http2/header_fields.ts";
import { encodeHeaders, HpackDecoder, HpackFault } from "../../../net/http2/hpack.ts";
import { codeLengths, decodeHuffman } from "../../../net/http2/huffman.ts";
import { fromHex } from "./_peer.ts";

function decode(decoder: HpackDecoder, hex: string): HeaderList | HpackFault {
  const block = fromHex(hex);
  return decoder.decode(block, 0, block.length);
}

function fieldsOf(decoder: HpackDecoder, hex: string): [string, string][] {
  const list = decode(decoder, hex);
  assert(!(list instanceof HpackFault), String((list as HpackFault).text));
  return [...list.fields];
}

const www = "www.example.com";
const requests: [string, string][][] = [
  [[":method", "GET"], [":scheme", "http"], [":path", "/"], [":authority", www]],
  [[":method", "GET"], [":scheme", "http"], [":path", "/"], [":authority", www], [
    "cache-control",
    "no-cache",
  ]],
  [[":method", "GET"], [":scheme", "https"], [":path", "/index.html"], [":authority", www], [
    "custom-key",
    "custom-value",
  ]],
];
const date = "Mon, 21 Oct 2013 20:13:21 GMT";
const cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
const location: [string, string] = ["location", "https://www.example.com"];
const responses: [string, string][][] = [
  [[":status", "302"], ["cache-control", "private"], ["date", date], location],
  [[":status", "307"], ["cache-control", "private"], ["date", date], location],
  [
    ...[[":status", "200"], ["cache-control", "private"], ["date", date.replace("21 G", "22 G")]],
    ...[location, ["content-encoding", "gzip"], ["set-cookie", cookie]],
  ] as [string, string][],
];

/** The RFC's blocks, with the size and the entries of the table after each. */
const sequences = {
  "C.3, requests without Huffman codes": {
    lists: requests,
    blocks: [
      ["8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", 57, 1],
      ["8286 84be 5808 6e6f 2d63 6163 6865", 110, 2],
      ["8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", 164, 3],
    ],
  },
  "C.4, requests with Huffman codes": {
    lists: requests,
    blocks: [
      ["8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", 57, 1],
      ["8286 84be 5886 a8eb 1064 9cbf", 110, 2],
      ["8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", 164, 3],
    ],
  },
  "C.5, answers without Huffman codes, a table of 256 bytes": {
    lists: responses,
    blocks: [
      [
        `3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
         2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65
         2e63 6f6d`,
        222,
        4,
      ],
      ["4803 3330 37c1 c0bf", 222, 4],
      [
        `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0
         5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851
         5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31`,
        215,
        3,
      ],
    ],
  },
  "C.6, answers with Huffman codes, a table of 256 bytes": {
    lists: responses,
    blocks: [
      [
        `3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
        222,
        4,
      ],
      ["4883 640e ffc1 c0bf", 222, 4],
      [
        `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad
         94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160
         65c0 03ed 4ee5 b106 3d50 07`,
        215,
        3,
      ],
    ],
  },
} as const;

for (const [name, { lists, blocks }] of Object.entries(sequences)) {
  Deno.test(`HPACK decodes RFC 7541 ${name}`, () => {
    const decoder = new HpackDecoder(16384);
    for (const [k, [block, size, count]] of blocks.entries()) {
      assertEquals(fieldsOf(decoder, block), lists[k]);
      assertEquals([decoder.tableSize, decoder.tableCount], [size, count]);
    }
  });
}

for (
  const [name, block, field, count] of [
    [
      "C.2.1, a field that is added",
      "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
      ["custom-key", "custom-header"],
      1,
    ],
    [
      "C.2.2, a field that is not added",
      "040c 2f73 616d 706c 652f 7061 7468",
      [":path", "/sample/path"],
      0,
    ],
    [
      "C.2.3, a field that must never be added",
      "1008 7061 7373 776f 7264 0673 6563 7265 74",
      ["password", "secret"],
      0,
    ],
    ["C.2.4, a field of the static table", "82", [":method", "GET"], 0],
  ] as const
) {
  Deno.test(`HPACK decodes RFC 7541 ${name}`, () => {
    const decoder = new HpackDecoder(16384);
    assertEquals(fieldsOf(decoder, block), [[...field]]);
    assertEquals(decoder.tableCount, count);
  });
}

Deno.test("HPACK decodes the integers of RFC 7541, C.1, as sizes of texts and tables", () => {
  // C.1.2: 1337 with a prefix of 5 bits; the size of a table.
  const decoder = new HpackDecoder(16384);
  assertEquals(fieldsOf(decoder, "3f9a0a"), []);
  // C.1.1 and C.1.3: 10 with 5 bits, 42 with 8 bits.
  assertEquals(fieldsOf(decoder, "2a"), []);
  const letters = "61".repeat(42);
  assertEquals(fieldsOf(decoder, `0001 78 2a ${letters}`), [["x", "a".repeat(42)]]);
});

Deno.test("the Huffman code is complete, and each letter comes back", () => {
  assertEquals(codeLengths.length, 257);
  assertEquals(codeLengths.reduce((sum, length) => sum + 2 ** -length, 0), 1);
  // The codes themselves, made from the lengths by another way than the decoder's.
  const order = [...codeLengths.keys()].sort((a, b) =>
    (codeLengths[a] as number) - (codeLengths[b] as number) || a - b
  );
  let next = 0n;
  let before = 0;
  for (const symbol of order) {
    const length = codeLengths[symbol] as number;
    next <<= BigInt(length - before);
    before = length;
    const bits = next.toString(2).padStart(length, "0");
    next++;
    const padded = bits.padEnd(8 * Math.ceil(length / 8), "1");
    const bytes = new Uint8Array(
      padded.match(/.{8}/g)?.map((eight) => Number.parseInt(eight, 2)) ?? [],
    );
    const target = new Uint8Array(8);
    const end = decodeHuffman(bytes, 0, bytes.length, target, 0);
    if (symbol === 256) assertEquals(end, -1);
    else assertEquals([end, target[0]], [1, symbol]);
  }
});

for (
  const [name, block] of [
    ["index 0", "80"],
    ["an index beyond both tables", "be"],
    ["a name's index beyond both tables", "7f00"],
    ["an integer that never ends", "ffffffffffffffffffff"],
    ["an integer above 2^24", "ffffffff7f"],
    ["an integer of zeros without an end", "ff8080808080808000"],
    ["a block that ends within an integer", "ff80"],
    ["a block that ends before a name", "40"],
    ["a block that ends before a value", "400161"],
    ["a name longer than its block", "400a61"],
    ["a value longer than its block", "400161 7f00"],
    ["a table above what was offered", "3fe21f"],
    ["a table's size after a field", "8220"],
    ["padding of 8 bits", "4001618 1ff".replaceAll(" ", "")],
    ["padding of zeros", "40016181 18"],
    ["an end of text within it", "400161 84 ffffffff"],
  ] as const
) {
  Deno.test(`HPACK refuses ${name}`, () => {
    const fault = decode(new HpackDecoder(16384), block);
    assert(fault instanceof HpackFault && fault.text !== "");
  });
}

Deno.test("the table of HPACK forgets its oldest fields, and all of them for one that is too large", () => {
  const decoder = new HpackDecoder(1 << 20);
  const put = (name: string, length: number): void => {
    const size = length.toString(16).padStart(4, "0");
    // 7-bit prefix: 127 + the rest in two bytes.
    const rest = length - 127;
    const integer = [127, (rest & 127) | 128, rest >> 7]
      .map((byte) => byte.toString(16).padStart(2, "0")).join("");
    assert(size !== "" && rest >= 0 && rest < 1 << 14);
    const hex = [...name].map((letter) => letter.charCodeAt(0).toString(16)).join("");
    decode(decoder, `4001${hex}${integer}${"7a".repeat(length)}`);
  };
  put("a", 1000);
  put("b", 1000);
  put("c", 1000);
  assertEquals([decoder.tableCount, decoder.tableSize], [3, 3 * 1033]);
  put("d", 1000);
  assertEquals([decoder.tableCount, decoder.tableSize], [3, 3 * 1033]);
  assertEquals(fieldsOf(decoder, "c0"), [["b", "z".repeat(1000)]]);
  put("e", 4063); // 4,096 with its 32 and its name: it just fits
  assertEquals([decoder.tableCount, decoder.tableSize], [1, 4096]);
  put("f", 4064);
  assertEquals([decoder.tableCount, decoder.tableSize], [0, 0]);
  assert(decode(decoder, "be") instanceof HpackFault);
});

Deno.test("a change of the table's size drops fields, and comes at a block's beginning, also twice", () => {
  const decoder = new HpackDecoder(16384);
  fieldsOf(decoder, "400161 0162 400163 0164");
  assertEquals(decoder.tableCount, 2);
  assertEquals(fieldsOf(decoder, "20 3fe11f 82"), [[":method", "GET"]]);
  assertEquals(decoder.tableCount, 0);
});

Deno.test("a block that comes again is the same list until the table changes, by a field, a size or a fault", () => {
  const decoder = new HpackDecoder(16384);
  const both = "82 be";
  fieldsOf(decoder, "400161 0162");
  const first = decode(decoder, both);
  assertEquals(fieldsOf(decoder, both), [[":method", "GET"], ["a", "b"]]);
  assertStrictEquals(decode(decoder, both), first);
  assertEquals(fieldsOf(decoder, "83 be"), [[":method", "POST"], ["a", "b"]]);
  assertEquals(fieldsOf(decoder, both), [[":method", "GET"], ["a", "b"]]);
  // A block that changes the table is another one each time.
  for (const [count, size] of [[2, 68], [3, 102]]) {
    assertEquals(fieldsOf(decoder, "400163 0164 82"), [["c", "d"], [":method", "GET"]]);
    assertEquals([decoder.tableCount, decoder.tableSize], [count, size]);
  }
  assertEquals(fieldsOf(decoder, both), [[":method", "GET"], ["c", "d"]]);
  assert(decode(decoder, "400165 0166 80") instanceof HpackFault);
  assertEquals(fieldsOf(decoder, both), [[":method", "GET"], ["e", "f"]]);
  fieldsOf(decoder, "20 82");
  assert(decode(decoder, both) instanceof HpackFault);
});

Deno.test("a short block that unfolds to much keeps nothing above the limit", () => {
  const decoder = new HpackDecoder(4000);
  const long = "7a".repeat(2000);
  fieldsOf(decoder, `4001 61 7fd10e ${long}`);
  const list = decode(decoder, "be".repeat(10_000));
  assert(!(list instanceof HpackFault) && list.isTooLarge);
  const kept = [...list.fields.values()].reduce((sum, value) => sum + value.length, 0);
  assert(kept <= 4000, String(kept));
});

Deno.test("what the encoder writes is read back, without any table", () => {
  const fields: [string, string][] = [
    [":status", "200"],
    [":status", "418"],
    ["content-type", "application/grpc"],
    ["grpc-status", "0"],
    ["grpc-message", "x".repeat(500)],
    ["empty", ""],
  ];
  const decoder = new HpackDecoder(16384);
  const block = encodeHeaders(fields);
  const list = decoder.decode(block, 0, block.length);
  assert(!(list instanceof HpackFault));
  assertEquals(list.fields.get(":status"), "200, 418");
  assertEquals([...list.fields].slice(1), fields.slice(2));
  assertEquals(decoder.tableCount, 0);
});
