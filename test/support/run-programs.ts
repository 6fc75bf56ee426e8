/**
 * Runs the programs of a folder one after the other in this process, and writes their output to files: said.json has standard error, printed.json
 * standard output.
 * Started as a process by test/docs.test.ts: its exit shows that no program leaves open handles.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const folder = resolve(process.argv[2]!)
const said: Record<string, string> = {}
/** The single writes: the output of an earlier program with `node:test` may come between them. */
const printed: Record<string, string[]> = {}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
  const lines: string[] = []
  const output: string[] = []
  // Removes process-wide state of the previous program.
  for (const key of ['kopf.logging', 'kopf.defaultOperator', 'opentelemetry.js.api.1'])
    Reflect.deleteProperty(globalThis, Symbol.for(key))
  process.stdout.write = (text: string | Uint8Array) => output.push(String(text)) > 0
  process.stderr.write = (text: string | Uint8Array) => lines.push(String(text)) > 0
  try {
    await import(join(folder, file))
  } catch (error) {
    lines.push(error instanceof Error ? `${error.stack}\n` : String(error))
  }
  said[file] = lines.join('')
  printed[file] = output
}

writeFileSync(join(folder, 'said.json'), JSON.stringify(said))
writeFileSync(join(folder, 'printed.json'), JSON.stringify(printed))
