/** Conditions of resources without a status subresource. */
import { type Condition, defineResource, Operator } from 'kopf'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { isHandled, useCleanLab } from '../support/handled.ts'

const lab = useCleanLab({ status: false })

test('conditions without a status subresource are written with the object in one request, and survive a concurrent write', async () => {
  const kopf = new Operator()
  const transport = lab.record()
  let isFirst = true
  transport.meddle = async (request, send) => {
    if (request.method === 'PATCH' && isFirst) {
      isFirst = false
      await lab.patch('plain', { status: { conditions: [{ type: 'Theirs', status: 'True' }] } })
    }
    return send()
  }
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ conditions }) => conditions.set('Ours', true, 'Fine'))
  await lab.start(kopf, { transport })
  await lab.create('plain')
  const { status } = await lab.untilObject('plain', isHandled)
  expect((status['conditions'] as Condition[]).map(({ type }) => type)).toEqual(['Theirs', 'Ours'])
  expect(transport.writes()).toHaveLength(2)
})

test('observedGeneration is written if the status of the resource definition has it', async () => {
  const [group] = lab.widgets
  const Widget = defineResource({
    group,
    version: 'v1',
    kind: 'Widget',
    status: z.object({ observedGeneration: z.number().optional() }),
  })
  const kopf = new Operator()
  kopf.on.create(Widget, { id: 'fn' }, ({ conditions }) => conditions.set('Ready', true, 'Fine'))
  await lab.start(kopf)
  await lab.create('defined')
  expect((await lab.untilObject('defined', isHandled)).status).toMatchObject({ observedGeneration: 1 })
})

test('without a status subresource, a condition is older than its object, so that kubectl wait does not end', async () => {
  const kopf = new Operator()
  kopf.on.create(lab.widgets, { id: 'fn' }, ({ conditions }) => conditions.set('Ready', true, 'Fine'))
  await lab.start(kopf)
  await lab.create('outdated')
  const { metadata, status } = await lab.untilObject('outdated', isHandled)
  const [{ observedGeneration }] = status['conditions'] as [Condition]
  expect(observedGeneration).toBeLessThan(metadata.generation!)
})
