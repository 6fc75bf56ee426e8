/** The contract, for objects with a label only. */
import { Operator } from 'kopf'

const gadgets = [process.env['BENCH_GROUP'] as string, 'v1', process.env['BENCH_PLURAL'] as string] as const
const labels = { picked: process.env['BENCH_PICKED'] as string }

const kopf: Operator = new Operator()
export default kopf

interface Args {
  readonly spec: { readonly size?: number }
  readonly patch: { readonly status: { observed?: unknown } }
}

function observe({ spec, patch }: Args): void {
  patch.status.observed = spec.size
}
kopf.on.create(gadgets, { id: 'observe', labels }, observe)
kopf.on.update(gadgets, { id: 'observe', labels }, observe)

kopf.on.delete(gadgets, { id: 'cleanup', labels }, () => {})
