/** The same operator as nulls.py: prints each call with its reason and its diff. */
import { ABSENT, type Diff, Operator, PRESENT } from 'kopf'

const widgets = [process.env['GROUP'] as string, 'v1', 'widgets'] as const

const kopf: Operator = new Operator()
export default kopf

const note =
  (id: string) =>
  ({ reason, diff }: { readonly reason: string; readonly diff: Diff }): void => {
    const items = diff.map(([operation, field, old, now]) => [operation, field, old ?? null, now ?? null])
    process.stdout.write(`called ${id} ${reason} ${JSON.stringify(items.sort())};\n`)
  }

kopf.on.field(widgets, 'spec.a', { id: 'a' }, note('a'))
kopf.on.field(widgets, 'spec.deep', { id: 'deep' }, note('deep'))
kopf.on.update(widgets, { field: 'spec.a', id: 'updated' }, note('updated'))
kopf.on.update(widgets, { field: 'spec.a', old: PRESENT, id: 'present' }, note('present'))
kopf.on.update(widgets, { field: 'spec.a', old: ABSENT, id: 'absent' }, note('absent'))
kopf.on.resume(widgets, { id: 'resumed' }, note('resumed'))
kopf.on.delete(widgets, { id: 'deleted' }, note('deleted'))
