/** An API server that is away for seconds, or for minutes: nothing is lost, nothing is hammered, and nothing is listed anew. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { untilHandled } from '../support/handled.ts'
import { useLab } from '../support/lab.ts'
import { cutBy, gate } from '../support/recording.ts'

const lab = useLab()

/** Real time passes on the real server: there the long one is not so long. */
const outages: ReadonlyArray<readonly [string, number]> = [
  ['5 seconds', 5],
  ['5 minutes', lab.isReal ? 15 : 300],
]

test.each(outages)('for %s', async (_what, seconds) => {
  const name = `after-${seconds}`
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.create(lab.widgets, ({ name }) => void seen.push(`create ${name}`))
  kopf.on.update(lab.widgets, ({ name, spec }) => void seen.push(`update ${name} ${spec['size']}`))
  const transport = lab.record()
  const down = gate()
  let isDown = false
  transport.meddle = async (_request, send) => {
    if (isDown) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const response = await send()
    return { ...response, body: cutBy(response.body, down.opened) }
  }
  await lab.start(kopf, { transport, namespaces: [`${lab.namespace}*`] })
  await lab.create(name, { spec: { size: 1 } })
  await untilHandled(lab, name)
  await lab.elapse(0.5)

  isDown = true
  down.open()
  const before = transport.requests.length
  await lab.patch(name, { spec: { size: 2 } })
  await lab.create(`${name}-too`, { spec: { size: 1 } })
  await lab.elapse(seconds)
  // Three streams: objects, definitions and namespaces; each tries ever less often, at most every 15 to 30 seconds.
  expect(transport.requests.length - before).toBeLessThanOrEqual(3 * (10 + seconds / 15))
  isDown = false
  transport.meddle = (_request, send) => send()

  const healed = transport.requests.length
  for (const each of [name, `${name}-too`]) await untilHandled(lab, each)
  expect(seen.sort()).toEqual([`create ${name}`, `create ${name}-too`, `update ${name} 2`])
  const lists = transport.requests.slice(healed).filter(({ query }) => query.get('sendInitialEvents') === 'true')
  expect(lists).toEqual([])
})
