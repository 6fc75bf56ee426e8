/** The spans of conversion reviews. */
import { expect, test } from 'vitest'
import { Conversions } from '../admission/conversion-lab.ts'
import { useTraces } from './traces.ts'

const conversions = new Conversions()
const traces = useTraces()

const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }

test('a conversion review continues the trace of the API server, with a span for each call', async () => {
  const { door } = await conversions.start(conversions.operatorOf({ 'v1-v2': () => ({}), 'v2-v3': () => ({}) }))
  traces.reset()
  await door.post(conversions.reviewOf([conversions.objectOf('v1')], 'v3'), { headers })
  const review = traces.span('conversion review')
  expect(review.spanContext().traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736')
  expect(traces.tree(conversions.lab, [review])).toEqual([
    'conversion review',
    '  convert convert/v1-v2',
    '  convert convert/v2-v3',
  ])
})

test('a conversion review of a long list has spans for its first calls only', async () => {
  const { door } = await conversions.start(conversions.operatorOf({ 'v1-v2': () => ({}) }))
  traces.reset()
  const objects = Array.from({ length: 300 }, (_, index) =>
    conversions.objectOf('v1', { metadata: { name: `o${index}`, uid: `u${index}` } }),
  )
  await door.post(conversions.reviewOf(objects, 'v2'), { headers })
  expect(traces.names.filter((name) => name === 'convert convert/v1-v2')).toHaveLength(100)
})
