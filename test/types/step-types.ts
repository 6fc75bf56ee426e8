/** Compiled, never run: types of steps and conditions, and their type errors. */
import { Operator } from 'kopf'

const kopf = new Operator()

interface Bucket {
  readonly name: string
  readonly tags?: readonly string[]
  readonly size: number | null
}

interface Cloud {
  bucket(): Promise<Bucket>
  pair(): [string, number]
  anything(): unknown
  since(): Date
  tags(): Map<string, string>
  bytes(): { readonly data: Uint8Array }
}

declare const cloud: Cloud

kopf.on.create('databases', async ({ name, step }) => {
  const text: string = await step('text', () => name)
  const later: string = await step('later', async () => `${text}!`)
  const bucket: Bucket = await step('interface', () => cloud.bucket())
  const pair: [string, number] = await step('tuple', () => cloud.pair())
  const perhaps: string | undefined = await step('perhaps', () => bucket.tags?.[0])
  const nothing = await step('nothing', () => {})
  const unknown: unknown = await step('unknown', () => cloud.anything())
  // @ts-expect-error: the result is a number.
  const wrong: string = await step('wrong', () => 1)
  // @ts-expect-error: a stored Date would be a string.
  await step('date', () => cloud.since())
  // @ts-expect-error: a stored Map would be an object.
  await step('map', () => cloud.tags())
  // @ts-expect-error: stored bytes would be an object.
  await step('bytes', () => cloud.bytes())
  // @ts-expect-error: a function cannot be stored.
  await step('function', () => () => name)
  // @ts-expect-error: an id is a string.
  await step(1, () => name)
  return { later, pair, perhaps, nothing, unknown, wrong }
})

// @ts-expect-error: event handlers have no steps.
kopf.on.event('databases', ({ step }) => step)
// @ts-expect-error: filters have no steps.
kopf.on.create('databases', { when: ({ step }) => step }, () => {})

kopf.on.create('databases', ({ conditions }) => {
  conditions.set('Ready', true, 'Running')
  conditions.set('Ready', 'Unknown', 'Lost', 'No answer for a minute')
  const status: 'True' | 'False' | 'Unknown' | undefined = conditions.get('Ready')?.status
  conditions.remove('Ready')
  // @ts-expect-error: a status is one of three.
  conditions.set('Ready', 'Yes', 'Running')
  // @ts-expect-error: a condition has a reason.
  conditions.set('Ready', true)
  return { status }
})
kopf.on.event('databases', ({ conditions }) => conditions.set('Seen', true, 'Event'))
kopf.daemon('databases', ({ conditions }) => conditions.set('Pinged', true, 'Daemon'))
kopf.timer('databases', { interval: 10 }, ({ conditions }) => conditions.set('Pinged', true, 'Timer'))
// @ts-expect-error: index functions have no conditions.
kopf.index('databases', ({ conditions }) => conditions)
// @ts-expect-error: admission handlers have no conditions.
kopf.on.validate('databases', ({ conditions }) => conditions)
