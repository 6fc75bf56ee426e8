/** Outages of the API server for seconds or minutes: no lost changes, few requests, and no new lists. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { untilHandled } from '../support/handled.ts'
import { useLab } from '../support/lab.ts'
import { cutBy, gate } from '../support/recording.ts'

const lab = useLab()

/** A real cluster cannot skip time, so the long outage is shorter there. */
const outages: ReadonlyArray<readonly [string, number]> = [
  ['5 seconds', 5],
  ['5 minutes', lab.isReal ? 15 : 300],
]

test.each(outages)(
  'an outage of the API server of %s loses no changes, causes few requests, and needs no new list',
  async (_what, seconds) => {
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
    // Three streams (objects, CRDs, namespaces) reconnect less and less often, in the end every 15 to 30 seconds.
    expect(transport.requests.length - before).toBeLessThanOrEqual(3 * (10 + seconds / 15))
    isDown = false
    transport.meddle = (_request, send) => send()

    const healed = transport.requests.length
    for (const each of [name, `${name}-too`]) await untilHandled(lab, each)
    expect(seen.sort()).toEqual([`create ${name}`, `create ${name}-too`, `update ${name} 2`])
    const lists = transport.requests.slice(healed).filter(({ query }) => query.get('sendInitialEvents') === 'true')
    expect(lists).toEqual([])
  },
)
