/** The handlers of every case of scenarios/requests.ts; the labels of an object select its case. */
import { Operator, StatusDiffBaseStorage, StatusProgressStorage } from 'kopf'

const gadgets = [process.env['BENCH_GROUP'] as string, 'v1', process.env['BENCH_PLURAL'] as string] as const

const kopf: Operator = new Operator()
export default kopf

kopf.on.startup(({ settings }) => {
  if (process.env['BENCH_STORAGE'] !== 'status') return
  settings.persistence.progressStorage = new StatusProgressStorage()
  settings.persistence.diffbaseStorage = new StatusDiffBaseStorage()
})

interface Args {
  readonly spec: { readonly size?: number }
  readonly patch: { readonly status: Record<string, unknown> }
  readonly reason: string
  readonly name: string
}

function register(handlers: number, status: string, finalizer: string, number: number): void {
  const labels = { handlers: String(handlers), status, finalizer }
  const suffix = `${handlers}-${status}-${finalizer}-${number}`
  const observe = ({ spec, patch, reason, name }: Args): void => {
    console.log(`run ${reason} ${name}`)
    if (status === 'yes' && reason !== 'resume') patch.status[`observed${number}`] = spec.size
  }
  const options = { id: `observe-${suffix}`, labels }
  kopf.on.create(gadgets, options, observe)
  kopf.on.update(gadgets, options, observe)
  kopf.on.resume(gadgets, options, observe)
  if (finalizer === 'no') return
  kopf.on.delete(gadgets, { id: `cleanup-${suffix}`, labels }, ({ name }) => console.log(`run delete ${name}`))
}

for (const handlers of [1, 3, 10]) {
  for (const status of ['no', 'yes']) {
    for (const finalizer of ['no', 'yes']) {
      for (let number = 0; number < handlers; number += 1) register(handlers, status, finalizer, number)
    }
  }
}
