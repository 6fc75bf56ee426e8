/** Compiled, never run: the types conceal old values of Secrets, but not of other kinds. */
import type { ConfigMap, Secret } from 'kopf/kubernetes'
import { type Args, ConcealedValue, Operator, resource } from '../../src/index.ts'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false
function holds<_ extends true>(): void {}
declare function takesString(value: string): void

const kopf = new Operator()
const Secrets = resource<Secret>('v1', 'secrets')
type Old = ConcealedValue | string | undefined

kopf.on.update(Secrets, ({ old, new: now, diff, body }) => {
  const before = old?.data?.['password']
  holds<Same<typeof before, Old>>()
  // @ts-expect-error: an old value is concealed, and no string
  takesString(before!)
  takesString(now!.data!['password']!)
  takesString(body.data!['password']!)
  holds<Same<NonNullable<typeof old>['type'], string | undefined>>()
  holds<Same<NonNullable<typeof old>['immutable'], boolean | undefined>>()
  old?.metadata?.labels?.['app']?.length
  if (before instanceof ConcealedValue) before.matches(now?.data?.['password'])
  else if (before !== undefined) takesString(before)
  for (const [, , was] of diff) {
    // @ts-expect-error: the old side of a diff has to be narrowed
    takesString(was)
    if (typeof was === 'string') takesString(was)
  }
})

for (const notation of ['secrets', 'secret', 'Secret', 'secrets.v1'] as const) {
  kopf.on.update(notation, ({ old }) => {
    const before = old?.data?.['password']
    holds<Same<typeof before, Old>>()
  })
}
kopf.on.create('secrets', ({ old, new: now, body, patch }) => {
  const before = old?.data?.['password']
  holds<Same<typeof before, Old>>()
  // @ts-expect-error: an old value is concealed, and no string
  takesString(before!)
  takesString(now!.data!['password']!)
  takesString(body.data!['password']!)
  patch.data = { password: 'eA==' }
})
kopf.on.delete(['v1', 'secrets'], ({ old }) => {
  const before = old?.data?.['password']
  holds<Same<typeof before, Old>>()
})
kopf.on.resume({ plural: 'secrets' }, ({ old, subhandler }) => {
  const before = old?.data?.['password']
  holds<Same<typeof before, Old>>()
  subhandler('sub', ({ old: former }) => {
    const value = former?.data?.['password']
    holds<Same<typeof value, Old>>()
  })
})

kopf.on.field('secrets', 'data.password', ({ old, new: now }) => {
  holds<Same<typeof old, Old>>()
  holds<Same<typeof now, string | undefined>>()
})
kopf.on.field(Secrets, 'data.password', ({ old, new: now }) => {
  holds<Same<typeof old, Old>>()
  holds<Same<typeof now, string | undefined>>()
})
kopf.on.field(Secrets, 'data', ({ old, new: now }) => {
  const before = old?.['password']
  holds<Same<typeof before, Old>>()
  takesString(now!['password']!)
})
kopf.on.field(Secrets, 'type', ({ old }) => holds<Same<typeof old, string | undefined>>())

function declared({ old }: Args<'update', typeof Secrets>): void {
  // @ts-expect-error: an old value is concealed, and no string
  takesString(old!.data!['password']!)
}
kopf.on.update(Secrets, declared)

// Old values of other kinds are not concealed.
kopf.on.update(resource<ConfigMap>('v1', 'configmaps'), ({ old }) => takesString(old!.data!['password']!))
kopf.on.update('configmaps', ({ old }) => takesString(old!.data!['password']!))
kopf.on.field(resource<ConfigMap>('v1', 'configmaps'), 'data.password', ({ old }) => {
  holds<Same<typeof old, string | undefined>>()
})
kopf.on.update('secrets.example.com', ({ old }) => takesString(old!['data'].password))

// A concealed value has nothing of a string.
const concealed = ConcealedValue.of('eA==')
// @ts-expect-error: it has no methods of strings
concealed.length
// @ts-expect-error: it is no string
takesString(concealed)
// @ts-expect-error: it is made by the framework, or by `of`
new ConcealedValue({ digest: '', key: '' })
// @ts-expect-error: nothing else passes for one
const forged: ConcealedValue = { matches: () => true, toString: () => '', toJSON: () => '' }
void forged
