/** A cluster restored from a backup: versions go back, and what was seen since then has never been. */
import { Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import { type Body, useLab } from '../support/lab.ts'
import { cutBy, gate, type Meddler, refusal } from '../support/recording.ts'

const lab = useLab()

function respond(status: number, lines: readonly object[], end?: Promise<void>) {
  const body = (async function* () {
    for (const line of lines) yield Buffer.from(`${JSON.stringify(line)}\n`)
    await end
  })()
  return { status, headers: { 'content-type': 'application/json' }, body }
}

const tooLarge = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Timeout',
  code: 504,
  message: 'Timeout: Too large resource version',
  details: { causes: [{ reason: 'ResourceVersionTooLarge' }] },
}

/** As the API server is after it: it does not know our version, and what it has is as it was. `reached`: how far it has come. */
function restored(objects: readonly Body[], reached: string, end: Promise<void>): Meddler {
  return async ({ query }, send) => {
    if (query.get('watch') !== 'true') return send()
    const version = query.get('resourceVersion')
    if (version !== null && BigInt(version) > BigInt(reached)) return respond(504, [tooLarge])
    // Where we were is too long ago for it to go on from.
    if (query.get('sendInitialEvents') !== 'true') return refusal(410)
    const annotations = { 'k8s.io/initial-events-end': 'true' }
    const bookmark = { kind: 'Widget', metadata: { resourceVersion: reached, annotations } }
    const added = objects.map((object) => ({ type: 'ADDED', object }))
    return respond(200, [...added, { type: 'BOOKMARK', object: bookmark }], end)
  }
}

const operators: ReadonlyArray<readonly [string, (kopf: Operator) => void]> = [
  ['are only indexed', () => {}],
  ['are handled', (kopf) => kopf.on.update(lab.widgets, () => {})],
  [
    'are spied on and handled',
    (kopf) => {
      kopf.on.event(lab.widgets, () => {})
      kopf.on.update(lab.widgets, () => {})
    },
  ],
]

describe.each(operators)('objects that %s', (what, register) => {
  const name = what.replaceAll(' ', '-')

  async function restore(reachedOf: (before: string, after: string) => string): Promise<Map<string, number>> {
    const sizes = new Map<string, number>()
    const kopf = new Operator()
    const index = kopf.index(lab.widgets, { id: 'sizes' }, ({ name, spec }) => ({ [name]: Number(spec['size']) }))
    register(kopf)
    const transport = lab.record()
    const [cut, end] = [gate(), gate()]
    transport.meddle = async ({ path }, send) => {
      const response = await send()
      return path.endsWith('/widgets') ? { ...response, body: cutBy(response.body, cut.opened) } : response
    }
    await lab.start(kopf, { transport })
    const sizeOf = (name: string) => [...(index.get(name) ?? [])][0] ?? 0
    await lab.create(name, { spec: { size: 1 } })
    await lab.until(() => sizeOf(name) === 1)
    await lab.elapse(0.3)
    const backup = await lab.get(name)
    await lab.patch(name, { spec: { size: 2 } })
    await lab.create(`${name}-late`, { spec: { size: 3 } })
    await lab.until(() => sizeOf(name) === 2 && sizeOf(`${name}-late`) === 3)
    await lab.elapse(0.3)
    const after = (await lab.get(`${name}-late`)).metadata.resourceVersion!
    const meddle = restored([backup], reachedOf(backup.metadata.resourceVersion!, after), end.opened)
    transport.meddle = (request, send) => (request.path.endsWith('/widgets') ? meddle(request, send) : send())
    cut.open()
    await lab.until(() => sizeOf(name) === 1 && !index.has(`${name}-late`))
    for (const each of [name, `${name}-late`]) {
      sizes.set(each, sizeOf(each))
      await lab.delete(each)
    }
    end.open()
    await lab.stopAll()
    return sizes
  }

  test('are looked at anew when versions have gone back', async () => {
    const sizes = await restore((before) => before)
    expect([...sizes.values()]).toEqual([1, 0])
    expect(lab.logs.filter((line) => line.includes('have gone back'))).toHaveLength(1)
  })

  test('are looked at anew when versions have gone back, and have overtaken what we knew', async () => {
    const sizes = await restore((_, after) => String(BigInt(after) + 1000n))
    expect([...sizes.values()]).toEqual([1, 0])
  })
})
