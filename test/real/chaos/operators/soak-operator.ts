/**
 * The operator of the soak: a handler for each type of change; some calls fail once. Each handler writes its arguments to the status,
 * under its own id, and to the file JOURNAL, which outlives the process. The soak checks these two only.
 */
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Operator, TemporaryError } from 'kopf'
import { fate } from '../../../simulation/random.ts'
import type { Entry } from '../handler-journal.ts'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const
const seed = process.env['SEED'] as string
const life = Number(process.env['LIFE'])
const journal = process.env['JOURNAL'] as string

const kopf: Operator = new Operator({
  settings: {
    watching: { inactivityTimeout: 4 },
    networking: { requestTimeout: 4 },
  },
})
// biome-ignore lint/style/noDefaultExport: `kopf run` loads the default export.
export default kopf

interface Args {
  readonly uid: string
  readonly name: string
  readonly retry: number
  readonly spec: Readonly<Record<string, unknown>>
  readonly meta: { readonly resourceVersion?: string }
}

/** Records the start and the end of a call, takes some time, and fails at the first attempt for a fifth of all states. */
async function told(handler: string, args: Args): Promise<number> {
  const { uid, name, retry, meta } = args
  const value = args.spec['value'] as number
  const note = (phase: Entry['phase']): void => {
    const entry: Entry = { life, handler, uid, name, retry, value, version: meta.resourceVersion ?? '', phase }
    appendFileSync(journal, `${JSON.stringify(entry)}\n`)
  }
  note('begun')
  const chance = fate(seed, handler, uid, value)
  if (chance > 0.5) await sleep(chance * 60)
  if (retry === 0 && chance < 0.2) {
    note('failed')
    throw new TemporaryError('not yet', { delay: 0.3 })
  }
  note('done')
  return value
}

kopf.on.create(widgets, { id: 'born' }, async (args) => {
  args.patch.status.born = { uid: args.uid, value: await told('born', args) }
})

kopf.on.update(widgets, { id: 'updated' }, async (args) => ({ value: await told('updated', args) }))

kopf.on.field(widgets, 'spec.value', { id: 'sized' }, async (args) => {
  args.patch.status.sized = await told('sized', args)
})

kopf.on.resume(widgets, { id: 'resumed' }, async (args) => {
  await told('resumed', args)
  args.patch.status.resumed = life
})

kopf.on.delete(widgets, { id: 'cleanup' }, async (args) => void (await told('cleanup', args)))
