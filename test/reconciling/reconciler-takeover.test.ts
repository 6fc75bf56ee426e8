/** Reconcilers with leader election: a new leader reconciles each object once, writes nothing, and repeats no step. */
import { type Operator, TemporaryError } from 'kopf'
import { afterEach, expect, test } from 'vitest'
import { leasePath, Replicas, untilHeldBy } from '../election/election-support.ts'
import { recordsOf, settle } from '../support/handled.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()
const names = ['one', 'two', 'three']

afterEach(async () => {
  await lab.stopAll()
  await lab.call('DELETE', leasePath(lab))
})

test('a new leader reconciles each object once, without a write', async () => {
  const replicas = new Replicas(lab)
  for (const by of ['a', 'b']) {
    await replicas.start(by, (kopf) => {
      kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, ({ name }) => {
        replicas.calls.push(`${by} ${name}`)
        return { children: [configMap(`${name}-child`)] }
      })
    })
  }
  for (const name of names) {
    await lab.create(name, { spec: {} })
    await reconciling.untilThere(`${name}-child`)
  }
  await settle(lab)
  expect(replicas.calls.filter((call) => call.startsWith('b'))).toEqual([])
  replicas.calls.length = 0
  await lab.stop(replicas.running['a']!)
  await untilHeldBy(lab, 'b')
  await lab.until(() => replicas.calls.length >= names.length)
  await settle(lab)
  expect(replicas.calls.toSorted()).toEqual(['b one', 'b three', 'b two'])
  expect(replicas.writes('b')).toEqual([])
})

test('a new leader knows the steps of the previous leader before its own watch reports them', async () => {
  const replicas = new Replicas(lab)
  const effects: string[] = []
  const setUp = (by: string) => (kopf: Operator) => {
    kopf.reconcile(lab.widgets, { id: 'fn', cleanup: true }, async ({ step, deleting }) => {
      if (deleting) return
      await step('first', () => void effects.push(`${by} first`))
      await step('second', () => void effects.push(`${by} second`))
      if (by === 'a') throw new TemporaryError('not here', { delay: 600 })
    })
  }
  const transport = lab.record()
  transport.meddle = async ({ path, query }, send) => {
    const response = await send()
    if (!path.endsWith('/widgets') || query.get('watch') !== 'true') return response
    return { ...response, body: withoutSteps(response.body) }
  }
  await replicas.start('a', setUp('a'))
  await replicas.start('b', setUp('b'), { transport })
  await lab.create('one', { spec: {} })
  await lab.untilObject('one', (body) => 'fn.second' in recordsOf(body))
  await lab.stop(replicas.running['a']!)
  await untilHeldBy(lab, 'b')
  await lab.untilObject('one', (body) => Object.keys(recordsOf(body)).length === 0)
  expect(effects).toEqual(['a first', 'a second'])
})

/** A watch stream without objects that have step records. */
async function* withoutSteps(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) if (!Buffer.from(chunk).toString().includes('kopf.zalando.org/fn')) yield chunk
}
