/** Writes a module with one constant: gzipped JSON in base64. Read by the embedded server. */
import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

export interface PackedModule {
  /** The file to write. */
  readonly target: string
  /** The tool that writes it, for the comment at the top. */
  readonly tool: string
  /** The name of the constant. */
  readonly name: string
  readonly value: unknown
}

export function writePackedModule({ target, tool, name, value }: PackedModule): void {
  const text = JSON.stringify(value)
  const packed = gzipSync(text, { level: 9 }).toString('base64')
  const comment = `/** Written by ${tool}: JSON, packed with gzip. */`
  writeFileSync(target, `${comment}\nexport const ${name}: string =\n  '${packed}'\n`)
  console.log(`${target}: ${Math.round(text.length / 1024)} KB, packed ${Math.round(packed.length / 1024)} KB`)
}
