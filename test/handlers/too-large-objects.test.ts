/** `settings.watching.maxObjectBytes`: larger objects are not handled and get a condition, which is removed once they are smaller. */
import { type Observer, Operator } from 'kopf'
import { expect, test } from 'vitest'
import { useLab } from '../support/lab.ts'

const lab = useLab()
const limit = 20_000
const padding = 'x'.repeat(30_000)

function operatorOf(calls: string[]): Operator {
  const kopf = new Operator()
  kopf.settings.watching.maxObjectBytes = limit
  kopf.on.event(lab.widgets, ({ name, body }) => void (isLarge(body) && calls.push(`event ${name}`)))
  kopf.on.create(lab.widgets, ({ name }) => void calls.push(`create ${name}`))
  kopf.on.update(lab.widgets, ({ name }) => void calls.push(`update ${name}`))
  kopf.on.delete(lab.widgets, ({ name, spec }) => void calls.push(`delete ${name} ${'padding' in spec}`))
  return kopf
}

function isLarge(body: object): boolean {
  return JSON.stringify(body).length > limit
}

function handledOf(body: object): { status: string; reason: string; message: string } | undefined {
  const { status } = body as { status?: { conditions?: Array<{ type: string }> } }
  return status?.conditions?.find(({ type }) => type === 'Handled') as never
}

test('an object above the limit is not handled, which a condition, the log and the observer report once', async () => {
  const calls: string[] = []
  const told: string[] = []
  const observer: Observer = {
    objectTooLarge: ({ object: { name, namespace } }) => void told.push(`${namespace}/${name}`),
  }
  await lab.start(operatorOf(calls), { observer })
  await lab.create('big', { spec: { padding } })
  const big = await lab.untilObject('big', (body) => handledOf(body) !== undefined)
  expect(handledOf(big)).toMatchObject({
    status: 'False',
    reason: 'ObjectTooLarge',
    message: expect.stringMatching(
      /^The object is not handled: its JSON takes \d+ bytes, and the limit is 20000; make it/,
    ),
  })
  await lab.patch('big', { spec: { other: 1 } })
  await lab.create('small')
  await lab.until(() => calls.includes('create small'))
  expect(calls).toEqual(['create small'])
  expect(told).toEqual([`${lab.namespace}/big`])
  expect(lab.logs.filter((line) => line.includes('The object is not handled'))).toHaveLength(1)
  expect((await lab.get('big')).metadata.finalizers).toBeUndefined()
  await lab.delete('big')
  await lab.untilGone('big')
})

test('an object that has become smaller than the limit is handled, and its condition is cleared', async () => {
  const calls: string[] = []
  await lab.start(operatorOf(calls))
  await lab.create('shrinking', { spec: { padding } })
  await lab.untilObject('shrinking', (body) => handledOf(body)?.status === 'False')
  await lab.patch('shrinking', { spec: { padding: 'little' } })
  await lab.untilObject('shrinking', (body) => handledOf(body)?.status === 'True')
  await lab.until(() => calls.includes('create shrinking'))
})

test('a deleted object with the finalizer is handled even if it has grown above the limit', async () => {
  const calls: string[] = []
  await lab.start(operatorOf(calls))
  await lab.create('growing')
  await lab.until(() => calls.includes('create growing'))
  await lab.patch('growing', { spec: { padding } })
  await lab.untilObject('growing', (body) => handledOf(body)?.status === 'False')
  await lab.delete('growing')
  await lab.untilGone('growing')
  expect(calls.filter((one) => /^(create|update|delete) growing/.test(one))).toEqual([
    'create growing',
    'delete growing true',
  ])
})

test('an object with thousands of fields beside its spec is not handled', async () => {
  const calls: string[] = []
  await lab.start(operatorOf(calls))
  const fields = Object.fromEntries(Array.from({ length: 1500 }, (_, index) => [`field${index}`, {}]))
  await lab.create('wide', fields)
  const wide = await lab.untilObject('wide', (body) => handledOf(body) !== undefined)
  expect(handledOf(wide)?.message).toContain('more than 256 top-level fields')
  expect(calls).toEqual([])
  await lab.delete('wide')
})
