/** A cluster restored from a backup: resource versions go back, and newer objects and changes are gone. */
import { Operator } from 'kopf'
import { describe, expect, test } from 'vitest'
import { type Body, useLab } from '../support/lab.ts'
import { cutBy, gate, type Interceptor, refusal } from '../support/recording.ts'

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

/** The API server after a restore: it has the given objects, and `reached` is its current version, which may be older than ours. */
function restored(objects: readonly Body[], reached: string, end: Promise<void>): Interceptor {
  return async ({ query }, send) => {
    if (query.get('watch') !== 'true') return send()
    const version = query.get('resourceVersion')
    if (version !== null && BigInt(version) > BigInt(reached)) return respond(504, [tooLarge])
    // The version of the previous watch has expired.
    if (query.get('sendInitialEvents') !== 'true') return refusal(410)
    const annotations = { 'k8s.io/initial-events-end': 'true' }
    const bookmark = { kind: 'Widget', metadata: { resourceVersion: reached, annotations } }
    const added = objects.map((object) => ({ type: 'ADDED', object }))
    return respond(200, [...added, { type: 'BOOKMARK', object: bookmark }], end)
  }
}

const operators: ReadonlyArray<readonly [string, (kopf: Operator) => void]> = [
  ['are only indexed', () => {}],
  ['have a change handler', (kopf) => kopf.on.update(lab.widgets, () => {})],
  [
    'have event and change handlers',
    (kopf) => {
      kopf.on.event(lab.widgets, () => {})
      kopf.on.update(lab.widgets, () => {})
    },
  ],
]

describe.each(operators)('restored backup, objects that %s', (what, register) => {
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

  test('objects are processed again after a restore to older resource versions', async () => {
    const sizes = await restore((before) => before)
    expect([...sizes.values()]).toEqual([1, 0])
    expect(lab.logs.filter((line) => line.includes('have gone back'))).toHaveLength(1)
  })

  test('objects are processed again after a restore whose resource versions have overtaken the known ones', async () => {
    const sizes = await restore((_, after) => String(BigInt(after) + 1000n))
    expect([...sizes.values()]).toEqual([1, 0])
  })
})
