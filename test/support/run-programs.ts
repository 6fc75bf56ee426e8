/**
 * Runs the programs of a folder one after the other in this process, and writes down what each has said on standard error.
 * A process of its own, started by test/docs.test.ts: that it ends shows that none of them leaves anything behind.
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const folder = resolve(process.argv[2]!)
const said: Record<string, string> = {}

for (const file of readdirSync(folder).filter((name) => name.endsWith('.ts'))) {
  const lines: string[] = []
  // What one has set for its process must not be found by the next.
  for (const key of ['kopf.logging', 'kopf.defaultOperator']) Reflect.deleteProperty(globalThis, Symbol.for(key))
  process.stdout.write = () => true
  process.stderr.write = (text: string | Uint8Array) => lines.push(String(text)) > 0
  try {
    await import(join(folder, file))
  } catch (error) {
    lines.push(error instanceof Error ? `${error.stack}\n` : String(error))
  }
  said[file] = lines.join('')
}

writeFileSync(join(folder, 'said.json'), JSON.stringify(said))
