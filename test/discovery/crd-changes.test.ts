/** CRDs that are created, changed and deleted while the operator runs. */
import { type DaemonStoppingReason, EVERYTHING, Operator, type Resource, type ResourceLike, TemporaryError } from 'kopf'
import { describe, expect, test } from 'vitest'
import { anything, crdsPath } from '../support/crds.ts'
import { finalizer } from '../support/handled.ts'
import { useLab } from '../support/lab.ts'
import type { Recording } from '../support/recording.ts'
import { Kind } from './discovery-support.ts'

const lab = useLab()
const { group } = lab

function versions(...names: readonly string[]) {
  return names.map((name, position) => ({
    name,
    served: true,
    storage: position === 0,
    schema: { openAPIV3Schema: anything },
  }))
}

/** The number of requests for the objects of a kind. */
function concerning(transport: Recording, { plural }: Kind): number {
  return transport.requests.filter(({ path }) => path.includes(`/${plural}`) && !path.startsWith(crdsPath)).length
}

describe('new CRDs', () => {
  const id = group.slice(1, 9)
  const notations: ReadonlyArray<readonly [string, string, (kind: Kind) => ResourceLike]> = [
    ['its group, version and plural', 'Aster', ({ plural }) => [group, 'v1', plural]],
    ['a bare name', 'Begonia', () => `begonia${id}`],
    ['EVERYTHING in its group', 'Clover', () => [group, EVERYTHING]],
    ['a category', 'Dahlia', () => ({ category: `flowers${id}` })],
    [
      'a function',
      'Erica',
      ({ plural }) =>
        (one: Resource) =>
          one.group === group && one.plural === plural,
    ],
  ]
  test.each(notations)('a resource with a new CRD is served if it is selected by %s', async (_what, name, notation) => {
    const kind = new Kind(lab, name)
    const seen: string[] = []
    const kopf = new Operator()
    kopf.on.create(notation(kind), ({ name, resource }) => void seen.push(`${resource.plural} ${name}`))
    await lab.start(kopf)
    await kind.define({ names: { singular: `${name.toLowerCase()}${id}`, categories: [`flowers${id}`] } })
    await kind.create('first')
    await lab.until(() => seen.includes(`${kind.plural} first`))
    await lab.stopAll()
    await kind.remove()
  })
})

test('discovery is not repeated for changes of CRDs that do not affect the served resources', async () => {
  const kind = new Kind(lab, 'Fern')
  await kind.define()
  const seen: string[] = []
  const kopf = new Operator()
  kopf.on.event(kind.selector, ({ name }) => void seen.push(name))
  kopf.on.event([group, 'nowhere'], () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await kind.create('one')
  await lab.until(() => seen.includes('one'))
  await lab.elapse(2)
  const before = transport.requests.length
  await kind.change({ metadata: { annotations: { note: 'this does not matter' } } })
  await kind.create('two')
  await lab.until(() => seen.includes('two'))
  await lab.elapse(lab.isReal ? 2 : 120)
  const isWatch = ({ query }: { query: URLSearchParams }) => query.get('watch') === 'true'
  expect(transport.requests.slice(before).filter((request) => !isWatch(request))).toEqual([])
  const watched = transport.watches(crdsPath)
  expect(watched.length).toBeGreaterThan(0)
  for (const { accept } of watched) expect(accept).toContain('as=PartialObjectMetadata')
  await lab.stopAll()
  await kind.remove()
})

test('a relevant change of a CRD causes discovery of its group alone', async () => {
  const kind = new Kind(lab, 'Gorse')
  await kind.define()
  const kopf = new Operator()
  kopf.on.event(kind.selector, () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport })
  const before = transport.requests.length
  await kind.change({ spec: { names: { shortNames: ['gs'] } } })
  await lab.elapse(2)
  const paths = transport.requests.slice(before).map(({ path }) => path)
  const looks = paths.filter((path) => !path.includes(kind.plural) && path !== crdsPath)
  expect(new Set(looks)).toEqual(new Set([`/apis/${group}`, `/apis/${group}/v1`]))
  expect(looks.length).toBeLessThanOrEqual(8)
  await lab.stopAll()
  await kind.remove()
})

test('an operator for built-in resources does not watch CRDs', async () => {
  const kopf = new Operator()
  kopf.on.event(['v1', 'configmaps'], () => {})
  kopf.on.event(['apps', 'v1', 'deployments'], () => {})
  kopf.on.event('pods', () => {})
  kopf.on.event(['networking.k8s.io', 'ingresses'], () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.elapse(1)
  expect(transport.watches(crdsPath)).toEqual([])
})

test('an operator with scanning disabled does not watch CRDs, and serves the resources of its start', async () => {
  const kind = new Kind(lab, 'Heather')
  const kopf = new Operator({ settings: { scanning: { disabled: true } } })
  kopf.on.event(kind.selector, () => {})
  const transport = lab.record()
  await lab.start(kopf, { transport })
  const before = transport.requests.length
  await kind.define()
  await lab.elapse(2)
  expect(transport.requests.length).toBe(before)
  await kind.remove()
})

describe('deleted CRDs', () => {
  test('a resource whose CRD is deleted is no longer watched, its daemons end, and its indices are emptied', async () => {
    const kind = new Kind(lab, 'Iris')
    await kind.define()
    const reasons: (DaemonStoppingReason | undefined)[] = []
    const gone: string[] = []
    const kopf = new Operator()
    const byName = kopf.index(kind.selector, { id: 'byName' }, ({ name }) => ({ [name]: name }))
    kopf.on.event(kind.selector, ({ event, name }) => void (event.type === 'DELETED' && gone.push(name)))
    kopf.daemon(kind.selector, { finalizer: false }, async ({ stopped }) => {
      await stopped.wait()
      reasons.push(stopped.reason)
    })
    const transport = lab.record()
    await lab.start(kopf, { transport })
    await kind.create('one')
    await lab.until(() => byName.size === 1)
    await kind.remove()
    await lab.until(() => gone.length > 0 && reasons.length > 0)
    await lab.untilLogged('is gone, and not served any more')
    expect([gone, reasons, byName.size]).toEqual([['one'], ['resource-deleted'], 0])
    await lab.elapse(2)
    const before = concerning(transport, kind)
    await lab.elapse(lab.isReal ? 3 : 300)
    expect(concerning(transport, kind)).toBe(before)
  })

  test('a CRD is deleted after the delete handlers of its objects have finished', async () => {
    const kind = new Kind(lab, 'Juniper')
    await kind.define()
    const calls: string[] = []
    const kopf = new Operator()
    kopf.on.create(kind.selector, ({ name }) => void calls.push(`create ${name}`))
    kopf.on.delete(kind.selector, ({ name, retry }) => {
      if (retry < 2) throw new TemporaryError('not yet', { delay: 0.3 })
      calls.push(`delete ${name}`)
    })
    await lab.start(kopf)
    await kind.create('guarded')
    await lab.until(async () => {
      const { body } = await lab.call('GET', kind.path('guarded'))
      return body.metadata?.finalizers?.includes(finalizer) === true && calls.length > 0
    })
    await kind.remove()
    expect(calls).toEqual(['create guarded', 'delete guarded'])
  })
})

test('a CRD that was deleted while the operator was down is removed after the operator has handled its objects', async () => {
  const kind = new Kind(lab, 'Rowan')
  await kind.define()
  const calls: string[] = []
  const kopf = new Operator()
  kopf.on.delete(kind.selector, ({ name }) => void calls.push(name))
  const running = await lab.start(kopf)
  await kind.create('waiting')
  await lab.until(async () => {
    const { body } = await lab.call('GET', kind.path('waiting'))
    return body.metadata?.finalizers?.includes(finalizer) === true
  })
  await lab.stop(running)
  await lab.call('DELETE', kind.definition)
  await lab.until(async () => {
    const { body } = await lab.call('GET', `/apis/${group}/v1`)
    const { resources = [] } = body as unknown as { resources?: { name: string; verbs: string[] }[] }
    return resources.some(({ name, verbs }) => name === kind.plural && !verbs.includes('create'))
  })
  await lab.start(kopf)
  await lab.until(async () => (await lab.call('GET', kind.definition)).status === 404)
  expect(calls).toEqual(['waiting'])
})

describe('replaced CRDs', () => {
  test('a CRD that is created again with another scope is served in that scope', async () => {
    const kind = new Kind(lab, 'Kale')
    await kind.define()
    const seen: string[] = []
    const kopf = new Operator()
    kopf.on.create(kind.selector, ({ name, namespace }) => void seen.push(`${name} in ${namespace}`))
    await lab.start(kopf)
    await kind.create('first')
    await lab.until(() => seen.length === 1)
    await kind.remove()
    await kind.define({ scope: 'Cluster' })
    await kind.create('first', {}, { isGlobal: true })
    await lab.until(() => seen.length === 2)
    expect(seen).toEqual([`first in ${lab.namespace}`, 'first in undefined'])
    await lab.stopAll()
    await kind.remove()
  })

  test('a CRD that is created again with another version is served in that version', async () => {
    const kind = new Kind(lab, 'Lily')
    await kind.define()
    const seen: string[] = []
    const kopf = new Operator()
    kopf.on.create(kind.selector, ({ name, resource }) => void seen.push(`${name} ${resource.version}`))
    await lab.start(kopf)
    await kind.create('one')
    await lab.until(() => seen.length === 1)
    await kind.remove()
    await kind.define({ versions: versions('v2') })
    await kind.create('one', {}, { version: 'v2' })
    await lab.until(() => seen.length === 2)
    expect(seen).toEqual(['one v1', 'one v2'])
    await lab.stopAll()
    await kind.remove()
  })

  test('a CRD that is created again with a status subresource is patched through it', async () => {
    const kind = new Kind(lab, 'Maple')
    await kind.define()
    const kopf = new Operator()
    kopf.on.create(kind.selector, ({ patch }) => {
      patch.status['seen'] = true
    })
    const transport = lab.record()
    await lab.start(kopf, { transport })
    await kind.create('one')
    const isSeen = async () => (await lab.call('GET', kind.path('one'))).body.status?.['seen'] === true
    await lab.until(isSeen)
    expect(transport.writes('/status')).toEqual([])
    await kind.remove()
    await kind.define({ subresources: { status: {} } })
    await kind.create('one')
    await lab.until(isSeen)
    expect(transport.writes(`/${kind.plural}/one/status`)).toHaveLength(1)
    await lab.stopAll()
    await kind.remove()
  })
})

test('a status subresource that is added to a CRD is used from then on', async () => {
  const kind = new Kind(lab, 'Nettle')
  await kind.define()
  const kopf = new Operator()
  kopf.on.create(kind.selector, ({ patch }) => {
    patch.status['seen'] = true
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  const version = { ...versions('v1')[0], subresources: { status: {} } }
  await kind.change({ spec: { versions: [version] } })
  await lab.elapse(2)
  await kind.create('one')
  await lab.until(async () => (await lab.call('GET', kind.path('one'))).body.status?.['seen'] === true)
  expect(transport.writes(`/${kind.plural}/one/status`)).toHaveLength(1)
  await lab.stopAll()
  await kind.remove()
})

describe('preferred versions', () => {
  test('a new preferred version takes over the objects without concurrent calls of a handler', async () => {
    const kind = new Kind(lab, 'Oak')
    await kind.define()
    const calls: string[] = []
    let running = 0
    let most = 0
    const kopf = new Operator()
    kopf.on.update(kind.selector, { id: 'u' }, async ({ resource, retry }) => {
      calls.push(`${resource.version} ${retry}`)
      running += 1
      most = Math.max(most, running)
      await lab.clock.sleep(2500)
      running -= 1
    })
    kopf.daemon(kind.selector, { finalizer: false }, async ({ stopped }) => {
      calls.push('daemon')
      await stopped.wait()
      calls.push('daemon ended')
    })
    await lab.start(kopf)
    await kind.create('one', { spec: { size: 1 } })
    await lab.until(() => calls.includes('daemon'))
    await lab.call('PATCH', kind.path('one'), { spec: { size: 2 } }, 'application/merge-patch+json')
    await lab.until(() => running === 1)
    await kind.change({ spec: { versions: versions('v1', 'v2').reverse() } })
    await lab.untilLogged('is served instead of')
    await lab.until(() => running === 0)
    await lab.call('PATCH', kind.path('one'), { spec: { size: 3 } }, 'application/merge-patch+json')
    await lab.until(() => calls.includes('v2 0'))
    await lab.until(() => running === 0)
    expect(most).toBe(1)
    expect(calls.filter((call) => call.startsWith('daemon'))).toEqual(['daemon'])
    await lab.stopAll()
    await kind.remove()
  })
})

test('a version that is no longer served is not watched, although its objects exist', async () => {
  const kind = new Kind(lab, 'Pine')
  await kind.define({ versions: versions('v2', 'v1') })
  const events: string[] = []
  const kopf = new Operator()
  kopf.on.event([group, 'v1', kind.plural], ({ name, event }) => void events.push(`${event.type} ${name}`))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await kind.create('one')
  await lab.until(() => events.includes('ADDED one'))
  const [v2, v1] = versions('v2', 'v1')
  await kind.change({ spec: { versions: [v2, { ...v1, served: false }] } })
  await lab.untilLogged('is not served any more')
  await lab.elapse(2)
  expect(events).not.toContain('DELETED one')
  await kind.change({ spec: { versions: [v2, v1] } })
  await lab.until(() => events.includes('null one'))
  await lab.stopAll()
  await kind.remove()
})
