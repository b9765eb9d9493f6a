/**
 * Reads the names that an ELF shared library exports and imports, from its dynamic symbol table. 64-bit little-endian only.
 *
 * @module
 */

/** Section types and symbol fields, as the ELF specification numbers them. */
const sectionDynamicSymbols = 11;
const bindingLocal = 0;
const sectionUndefined = 0;

/** The dynamic symbols of a library. */
export interface ElfSymbols {
  /** The symbols that it exports, sorted. */
  readonly exported: readonly string[];
  /** The symbols that it imports, sorted. */
  readonly imported: readonly string[];
}

/** The names in the dynamic symbol table of a library. */
export function listElfSymbols(bytes: Uint8Array<ArrayBuffer>): ElfSymbols {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0) !== 0x7f454c46) {
    throw new Error("not an ELF file: it does not begin with 7F 45 4C 46");
  }
  if (view.getUint8(4) !== 2 || view.getUint8(5) !== 1) {
    throw new Error("not a 64-bit little-endian ELF file");
  }
  const at = (offset: number): number => Number(view.getBigUint64(offset, true));
  const sections = at(0x28);
  const sectionSize = view.getUint16(0x3a, true);
  const sectionCount = view.getUint16(0x3c, true);

  const exported: string[] = [];
  const imported: string[] = [];
  for (let index = 0; index < sectionCount; index++) {
    const section = sections + index * sectionSize;
    if (view.getUint32(section + 4, true) !== sectionDynamicSymbols) continue;
    const strings = at(sections + view.getUint32(section + 0x28, true) * sectionSize + 0x18);
    const begin = at(section + 0x18);
    const end = begin + at(section + 0x20);
    for (let symbol = begin; symbol < end; symbol += at(section + 0x38)) {
      if (view.getUint8(symbol + 4) >> 4 === bindingLocal) continue;
      const names = view.getUint16(symbol + 6, true) === sectionUndefined ? imported : exported;
      const name = strings + view.getUint32(symbol, true);
      names.push(new TextDecoder().decode(bytes.subarray(name, bytes.indexOf(0, name))));
    }
  }
  return { exported: exported.sort(), imported: imported.sort() };
}
