/** The contract: copies spec.size to status.observed, and has a delete handler. */
import { Operator } from 'kopf'

const gadgets = [process.env['BENCH_GROUP'] as string, 'v1', process.env['BENCH_PLURAL'] as string] as const
const prints = process.env['BENCH_PRINT'] !== undefined

const kopf: Operator = new Operator()
export default kopf

interface Args {
  readonly spec: { readonly size?: number }
  readonly patch: { readonly status: { observed?: unknown } }
  readonly reason: string
  readonly name: string
}

function observe({ spec, patch, reason, name }: Args): void {
  if (prints) console.log(`run ${reason} ${name}`)
  patch.status.observed = spec.size
}
kopf.on.create(gadgets, { id: 'observe' }, observe)
kopf.on.update(gadgets, { id: 'observe' }, observe)

kopf.on.delete(gadgets, { id: 'cleanup' }, () => {})
