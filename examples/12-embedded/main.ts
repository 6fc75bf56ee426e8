import { on } from 'node:events'
import kopf, { greetings, names } from './operator.ts'

const greeted = on(greetings, 'greeted')

// The operator stops at the end of the program, also after an error.
await using running = await kopf.start({ namespaces: ['default'] })
await running.ready

const objects = names.get('all').toSorted()
process.stdout.write(`Objects: ${objects.join(', ')}\n`)

let count = 0
for await (const _ of greeted) {
  count += 1
  process.stdout.write(`Greeted: ${count} of ${objects.length}\n`)
  if (count === objects.length) break
}
