/** Custom resources with a conversion webhook: its requests, its responses and its failures. */
import { beforeAll, describe, expect, test } from 'vitest'
import type { Body, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { crd, crdServed, crdsPath } from '../../../support/crds.ts'
import { eventually, expectFailure, expectStatus, timestamp } from '../../../support/expectations.ts'
import { object } from '../../../support/objects.ts'
import { patching, type Reply, type Review, reviewed, WebhookServer } from '../../../support/webhook-server.ts'
import { allow, useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const admission = useWebhooks(cluster)
const kind = 'Widget'
const text = { type: 'string' }

let webhooks: WebhookServer
let count = 0

/** The conversion of this suite: `hostPort` in v1, `host` and `port` in v2. Objects with `bad` fail to convert. */
function convert({ spec, ...rest }: Body, desired: string): Tree {
  const { hostPort, host, port, bad, ...others } = (spec ?? {}) as Record<string, string>
  if (bad) throw new Error(`cannot convert ${rest.metadata.name}`)
  if (desired.endsWith('/v2')) {
    const [name, number] = hostPort?.split(':') ?? []
    return { ...rest, apiVersion: desired, spec: { host: name ?? host, port: number ?? port, ...others } }
  }
  return {
    ...rest,
    apiVersion: desired,
    spec: { hostPort: host === undefined ? hostPort : `${host}:${port}`, ...others },
  }
}

interface ConversionRequest {
  readonly uid: string
  readonly desiredAPIVersion: string
  readonly objects: Body[]
}

const requestOf = (review: Review) => review.request as unknown as ConversionRequest

function respond({ apiVersion, kind, request }: Review, response: Tree): Reply {
  return { body: { apiVersion, kind, response: { uid: request.uid, result: { status: 'Success' }, ...response } } }
}

type Convert = typeof convert

function converted(review: Review, how: Convert = convert): Reply {
  const { objects, desiredAPIVersion } = requestOf(review)
  try {
    return respond(review, { convertedObjects: objects.map((one) => how(one, desiredAPIVersion)) })
  } catch (error) {
    return respond(review, { result: { status: 'Failed', message: (error as Error).message } })
  }
}

function version(name: string, spec: Tree, rest: Tree = {}): Tree {
  const properties = {
    spec: { type: 'object', properties: { ...spec, bad: text, replicas: { type: 'integer' }, note: text } },
    status: { type: 'object', properties: { note: text, replicas: { type: 'integer' } } },
  }
  return {
    name,
    served: true,
    storage: name === 'v1',
    schema: { openAPIV3Schema: { type: 'object', properties } },
    subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
    ...rest,
  }
}

const v1 = (rest?: Tree) => version('v1', { hostPort: text, first: { ...text, default: 'one' } }, rest)
const v2 = (rest?: Tree) => version('v2', { host: text, port: text, second: { ...text, default: 'two' } }, rest)

/** A CRD and a path of the webhook for one test. */
class World {
  readonly group = `t${++count}.${cluster.group}`
  readonly path = `/convert-${count}`

  path1(rest = ''): string {
    return `/apis/${this.group}/v1/namespaces/${cluster.namespace}/widgets${rest}`
  }

  path2(rest = ''): string {
    return `/apis/${this.group}/v2/namespaces/${cluster.namespace}/widgets${rest}`
  }

  get name(): string {
    return `${crdsPath}/widgets.${this.group}`
  }

  conversion(rest: Tree = {}): Tree {
    return {
      strategy: 'Webhook',
      webhook: { clientConfig: webhooks.at(this.path), conversionReviewVersions: ['v1'], ...rest },
    }
  }

  definition(spec: Tree = {}): Tree {
    const { group } = this
    return crd({ group, kind, versions: [v1(), v2()], spec: { conversion: this.conversion(), ...spec } })
  }

  static async start(spec: Tree = {}, how: Convert = convert): Promise<World> {
    const world = new World()
    webhooks.on(world.path, ({ review }) => converted(review, how))
    await cluster.installAs({
      group: world.group,
      kind,
      versions: [v1(), v2()],
      spec: { conversion: world.conversion(), ...spec },
    })
    return world
  }

  async create1(name: string | Tree, spec: Tree = { hostPort: 'h:1' }): Promise<Body> {
    return expectStatus(await cluster.api.post(this.path1(), object(`${this.group}/v1`, kind, name, { spec })), 201)
  }

  async create2(name: string | Tree, spec: Tree = { host: 'h', port: '1' }): Promise<Body> {
    return expectStatus(await cluster.api.post(this.path2(), object(`${this.group}/v2`, kind, name, { spec })), 201)
  }

  async spec1(name: string): Promise<Tree> {
    return expectStatus(await cluster.api.get(this.path1(`/${name}`)), 200).spec
  }

  async spec2(name: string): Promise<Tree> {
    return expectStatus(await cluster.api.get(this.path2(`/${name}`)), 200).spec
  }

  /** The start of the error messages about objects of a version. */
  subject(from = 'v1'): string {
    return `conversion webhook for ${this.group}/${from}, Kind=${kind}`
  }
}

beforeAll(() => {
  webhooks = admission.server
})

describe.concurrent('conversion requests', () => {
  test('the conversion webhook gets a review with the stored object', async () => {
    const world = await World.start()
    const { metadata } = await world.create1({ name: 'one', labels: { a: 'b' } })
    await world.spec2('one')
    const [{ url, headers, review }] = webhooks.asked(world.path) as [ReturnType<WebhookServer['asked']>[0]]
    const { creationTimestamp, name, namespace, uid, generation, labels } = metadata
    for (const one of requestOf(review).objects) delete one.metadata['managedFields']
    expect(url).toBe(`${world.path}?timeout=30s`)
    expect(headers).toMatchObject({ 'content-type': 'application/json', accept: 'application/json, */*' })
    expect(review).toEqual({
      kind: 'ConversionReview',
      apiVersion: 'apiextensions.k8s.io/v1',
      request: {
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        desiredAPIVersion: `${world.group}/v2`,
        objects: [
          {
            apiVersion: `${world.group}/v1`,
            kind,
            metadata: { creationTimestamp, name, namespace, uid, generation, labels },
            spec: { hostPort: 'h:1', first: 'one' },
          },
        ],
      },
      response: { uid: '', convertedObjects: null, result: { metadata: {} } },
    })
  })

  test('the conversion webhook converts a written object to the storage version', async () => {
    const world = await World.start()
    const { metadata } = await world.create2('one')
    const back = webhooks
      .reviews(world.path)
      .map(requestOf)
      .find(({ desiredAPIVersion }) => desiredAPIVersion.endsWith('/v1'))
    const [sent] = back!.objects as [Body]
    delete sent.metadata['managedFields']
    const { creationTimestamp, name, namespace, uid, generation } = metadata
    expect(sent).toEqual({
      apiVersion: `${world.group}/v2`,
      kind,
      metadata: { creationTimestamp, name, namespace, uid, generation },
      spec: { host: 'h', port: '1', second: 'two' },
    })
  })

  test('the conversion webhook gets a v1beta1 review when that is its first review version', async () => {
    const world = new World()
    // The API server does not check the uid of v1beta1 responses.
    webhooks.on(world.path, ({ review }) => {
      const { body } = converted(review) as { body: { response: Tree } }
      return { body: { ...body, response: { ...body.response, uid: 'another' } } }
    })
    const conversion = world.conversion({ conversionReviewVersions: ['v0', 'v1beta1', 'v1'] })
    await cluster.installAs({ group: world.group, kind, versions: [v1(), v2()], spec: { conversion } })
    await world.create1('one')
    expect(await world.spec2('one')).toEqual({ host: 'h', port: '1' })
    const [review] = webhooks.reviews(world.path) as [Review]
    expect(review).toMatchObject({ apiVersion: 'apiextensions.k8s.io/v1beta1', kind: 'ConversionReview' })
  })

  test('the conversion webhook is called by the name of its service', async () => {
    const world = new World()
    const service = { name: 'hook', namespace: cluster.namespace, path: world.path, port: webhooks.port }
    const spec = { type: 'ExternalName', externalName: 'localhost', ports: [{ port: webhooks.port }] }
    expectStatus(await cluster.api.post(cluster.core('services'), object('v1', 'Service', 'hook', { spec })), 201)
    webhooks.on(world.path, ({ review }) => converted(review))
    const conversion = world.conversion({ clientConfig: { service, caBundle: webhooks.caBundle } })
    await cluster.installAs({ group: world.group, kind, versions: [v1(), v2()], spec: { conversion } })
    await world.create1('one')
    expect(await world.spec2('one')).toEqual({ host: 'h', port: '1' })
    expect(webhooks.asked(world.path)[0]!.headers['host']).toBe(`hook.${cluster.namespace}.svc:${webhooks.port}`)
  })
})

describe.concurrent('converted objects', () => {
  test('a converted object is shown in the version of the request', async () => {
    const world = await World.start()
    const one = await world.create1('one')
    const two = await world.create2('two', { host: 'x', port: '2' })
    expect(two).toEqual({
      apiVersion: `${world.group}/v2`,
      kind,
      metadata: { ...two.metadata, generation: 1, creationTimestamp: timestamp },
      // Only the storage version has defaults here: the conversion drops those of v2.
      spec: { host: 'x', port: '2' },
    })
    const shown1 = (await cluster.api.get(world.path1())).body
    const shown2 = (await cluster.api.get(world.path2())).body
    expect(shown1.items).toEqual([
      one,
      { ...two, apiVersion: `${world.group}/v1`, spec: { first: 'one', hostPort: 'x:2' } },
    ])
    expect(shown2).toMatchObject({ apiVersion: `${world.group}/v2`, kind: 'WidgetList' })
    expect(shown2.items).toEqual([{ ...one, apiVersion: `${world.group}/v2`, spec: { host: 'h', port: '1' } }, two])
    expect((await cluster.api.get(world.path2('/two'))).body).toEqual(two)
  })

  test('a converted object is pruned by the schema of its version, and wrong values stay', async () => {
    const how: Convert = (one, desired) => {
      const { spec, ...rest } = convert(one, desired) as { spec: Tree }
      return { ...rest, spec: { ...spec, host: 5, second: null, unknown: 1 }, extra: {} }
    }
    const world = await World.start({}, how)
    await world.create1('one')
    expect(await world.spec2('one')).toEqual({ host: 5, port: '1', second: null })
  })

  test('a conversion webhook changes only labels and annotations of the metadata', async () => {
    const how: Convert = (one, desired) => {
      const { finalizers: _, ...metadata } = one.metadata
      const changed = { ...metadata, labels: { as: desired.split('/')[1]! }, annotations: undefined, generation: 77 }
      return { ...convert(one, desired), metadata: { ...changed, creationTimestamp: null, ownerReferences: 'none' } }
    }
    const world = await World.start({}, how)
    const annotations = { a: 'b' }
    const one = await world.create1({
      name: 'one',
      labels: { as: 'given' },
      annotations,
      finalizers: ['kopf.dev/test'],
    })
    const { body } = await cluster.api.get(world.path2('/one'))
    const { annotations: _, ...metadata } = one.metadata
    expect(body.metadata).toEqual({ ...metadata, labels: { as: 'v2' } })
    const found = async (path: string, value: string) =>
      (await cluster.api.get(path, { labelSelector: `as=${value}` })).body.items.length
    await eventually(async () => expect(await found(world.path2(), 'v2')).toBe(1))
    expect([await found(world.path1(), 'given'), await found(world.path1(), 'v2')]).toEqual([1, 0])
    expectStatus(await cluster.api.mergePatch(world.path1('/one'), { metadata: { finalizers: null } }), 200)
  })

  test('converted objects are listed in pages', async () => {
    const world = await World.start()
    for (const name of ['a', 'b', 'c', 'd', 'e']) await world.create1(name, { hostPort: `${name}:1` })
    const hosts: unknown[] = []
    let token = ''
    do {
      const { body } = await cluster.api.get(world.path2(), { limit: 2, ...(token === '' ? {} : { continue: token }) })
      hosts.push(body.items.map(({ spec }) => spec['host']))
      token = body.metadata.continue ?? ''
    } while (token !== '')
    expect(hosts).toEqual([['a', 'b'], ['c', 'd'], ['e']])
  })

  test('converted objects are shown as a Table and as PartialObjectMetadata', async () => {
    const columns = [{ name: 'Host', type: 'string', jsonPath: '.spec.host' }]
    const world = new World()
    webhooks.on(world.path, ({ review }) => converted(review))
    const versions = [v1(), v2({ additionalPrinterColumns: columns })]
    await cluster.installAs({ group: world.group, kind, versions, spec: { conversion: world.conversion() } })
    await world.create1('one')
    const table = await cluster.api.get(world.path2(), {}, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' })
    expect(table.body.rows.map(({ cells }) => cells)).toEqual([['one', 'h']])
  })

  test('converted objects are selectable by fields of their own version', async () => {
    const world = new World()
    webhooks.on(world.path, ({ review }) => converted(review))
    const versions = [v1(), v2({ selectableFields: [{ jsonPath: '.spec.host' }] })]
    await cluster.installAs({ group: world.group, kind, versions, spec: { conversion: world.conversion() } })
    await world.create1('one', { hostPort: 'x:1' })
    await world.create1('two', { hostPort: 'y:1' })
    const { body } = await cluster.api.get(world.path2(), { fieldSelector: 'spec.host=y' })
    expect(body.items.map(({ metadata }) => metadata.name)).toEqual(['two'])
  })

  test('a watch shows converted objects in its own version', async () => {
    const world = await World.start()
    await world.create1('old')
    const [first, second] = [await cluster.api.watch(world.path1()), await cluster.api.watch(world.path2())]
    await world.create1('one')
    expectStatus(await cluster.api.mergePatch(world.path2('/one'), { spec: { port: '2' } }), 200)
    expectStatus(await cluster.api.delete(world.path2('/one')), 200)
    const shown = (events: Awaited<ReturnType<typeof first.take>>) =>
      events.map(({ type, object: { metadata, spec } }) => [
        type,
        metadata.name,
        spec['hostPort'] ?? [spec['host'], spec['port']],
      ])
    expect(shown(await first.take(4))).toEqual([
      ['ADDED', 'old', 'h:1'],
      ['ADDED', 'one', 'h:1'],
      ['MODIFIED', 'one', 'h:2'],
      ['DELETED', 'one', 'h:2'],
    ])
    expect(shown(await second.take(4))).toEqual([
      ['ADDED', 'old', ['h', '1']],
      ['ADDED', 'one', ['h', '1']],
      ['MODIFIED', 'one', ['h', '2']],
      ['DELETED', 'one', ['h', '2']],
    ])
    for (const watch of [first, second]) watch.close()
  })

  test('a watch of converted objects resumes from a resourceVersion', async () => {
    const world = await World.start()
    const { metadata } = await world.create1('one')
    const second = await world.create1('two')
    await eventually(async () => {
      const { body } = await cluster.api.get(world.path2(), { resourceVersion: 0 })
      expect(body.items.length).toBe(2)
    })
    const watch = await cluster.api.watch(world.path2(), { resourceVersion: metadata.resourceVersion })
    expect(await watch.next()).toEqual({
      type: 'ADDED',
      object: { ...second, apiVersion: `${world.group}/v2`, spec: { host: 'h', port: '1' } },
    })
    watch.close()
  })
})

describe.concurrent('writes in a version other than the storage version', () => {
  let world: World
  beforeAll(async () => {
    world = await World.start()
  })

  test('a PUT in another version replaces the stored object', async () => {
    const made = await world.create1('put')
    const { body } = await cluster.api.get(world.path2('/put'))
    const changed = expectStatus(
      await cluster.api.put(world.path2('/put'), { ...body, spec: { host: 'y', port: '9' } }),
      200,
    )
    expect(changed).toMatchObject({ apiVersion: `${world.group}/v2`, spec: { host: 'y', port: '9' } })
    expect(changed.metadata).toMatchObject({ uid: made.metadata.uid, generation: 2 })
    expect(await world.spec1('put')).toEqual({ first: 'one', hostPort: 'y:9' })
    const late = await cluster.api.put(world.path2('/put'), body)
    expect([late.status, late.body['reason']]).toEqual([409, 'Conflict'])
  })

  test('a patch in another version applies to the converted object', async () => {
    await world.create1('patch')
    const merged = await cluster.api.mergePatch(world.path2('/patch'), {
      spec: { port: '3' },
      metadata: { labels: { q: '1' } },
    })
    expect(expectStatus(merged, 200)).toMatchObject({
      spec: { host: 'h', port: '3' },
      metadata: { labels: { q: '1' }, generation: 2 },
    })
    const operations = [
      { op: 'test', path: '/spec/port', value: '3' },
      { op: 'replace', path: '/spec/host', value: 'z' },
    ]
    expectStatus(await cluster.api.jsonPatch(world.path2('/patch'), operations), 200)
    expect(await world.spec1('patch')).toEqual({ first: 'one', hostPort: 'z:3' })
  })

  test('a patch in another version raises the generation for the defaults of that version', async () => {
    await world.create1('defaults')
    const { body } = await cluster.api.mergePatch(world.path2('/defaults'), { spec: { port: '1' } })
    expect(body.metadata.generation).toBe(2)
    expect(body.spec).toEqual({ host: 'h', port: '1' })
  })

  test('a patch in another version that changes nothing keeps the resourceVersion', async () => {
    const same = await World.start({}, ({ spec, ...rest }, apiVersion) => ({ ...rest, spec, apiVersion }))
    const versions = [version('v1', { x: text }), version('v2', { x: text })]
    const { body: present } = await cluster.api.get(same.name)
    expectStatus(await cluster.api.put(same.name, { ...present, spec: { ...present.spec, versions } }), 200)
    await eventually(async () =>
      expect((await same.create1({ generateName: 'a-' }, { x: '1' })).spec).toEqual({ x: '1' }),
    )
    const made = await same.create1('one', { x: '1' })
    const { body } = await cluster.api.mergePatch(same.path2('/one'), { spec: { x: '1' } })
    expect(body).toEqual({ ...made, apiVersion: `${same.group}/v2` })
  })

  test('a status update in another version changes the status only', async () => {
    await world.create1('status')
    const { body } = await cluster.api.mergePatch(world.path2('/status/status'), {
      status: { note: 'x' },
      spec: { port: '7' },
    })
    expect(body).toMatchObject({ spec: { host: 'h', port: '1' }, status: { note: 'x' }, metadata: { generation: 1 } })
    expect((await cluster.api.get(world.path1('/status'))).body.status).toEqual({ note: 'x' })
  })

  test('the scale subresource works in another version', async () => {
    await world.create1('scale', { hostPort: 'h:1', replicas: 2 })
    const { body: read } = await cluster.api.get(world.path2('/scale/scale'))
    expect(read).toMatchObject({ kind: 'Scale', spec: { replicas: 2 } })
    const { body } = await cluster.api.mergePatch(world.path2('/scale/scale'), { spec: { replicas: 3 } })
    expect(body).toMatchObject({ kind: 'Scale', spec: { replicas: 3 } })
    expect(await world.spec1('scale')).toEqual({ first: 'one', hostPort: 'h:1', replicas: 3 })
  })

  test('a dry run in another version answers with the result and stores nothing', async () => {
    const made = await world.create1('dry')
    const patched = await cluster.api.mergePatch(world.path2('/dry?dryRun=All'), { spec: { port: '33' } })
    expect(patched.body).toMatchObject({ spec: { host: 'h', port: '33' } })
    expect(patched.body.metadata).toMatchObject({ generation: 2, resourceVersion: made.metadata.resourceVersion })
    const body = object(`${world.group}/v2`, kind, 'undone', { spec: { host: 'h', port: '1' } })
    const { body: undone } = await cluster.api.post(world.path2('?dryRun=All'), body)
    expect(undone.spec).toEqual({ host: 'h', port: '1' })
    expect(undone.metadata).not.toHaveProperty('resourceVersion')
    expect((await cluster.api.get(world.path2('/undone'))).status).toBe(404)
    expect((await cluster.api.get(world.path1('/dry'))).body).toEqual(made)
  })

  test('a creation in another version generates names and refuses existing ones', async () => {
    const { metadata } = await world.create2({ generateName: 'made-' })
    expect(metadata.name).toMatch(/^made-[a-z0-9]{5}$/)
    const again = await cluster.api.post(world.path2(), object(`${world.group}/v2`, kind, metadata.name))
    const details = { name: metadata.name, group: world.group, kind: 'widgets' }
    expectFailure(again, 409, 'AlreadyExists', `widgets.${world.group} "${metadata.name}" already exists`, details)
  })

  test('an object that violates the schema of its own version is refused before the conversion webhook is called', async () => {
    const { body } = await cluster.api.post(
      world.path2(),
      object(`${world.group}/v2`, kind, 'wrong', { spec: { host: 5 } }),
    )
    expect(body['message']).toBe(
      `${kind}.${world.group} "wrong" is invalid: spec.host: Invalid value: "integer": spec.host in body must be of type string: "integer"`,
    )
    expect(webhooks.reviews(world.path).map((one) => requestOf(one).objects[0]!.metadata.name)).not.toContain('wrong')
  })

  test('a deletion in another version deletes the object, or marks it where it has finalizers', async () => {
    await world.create1({ name: 'held', finalizers: ['kopf.dev/test'] })
    const { body } = await cluster.api.delete(world.path2('/held'))
    expect(body).toMatchObject({ apiVersion: `${world.group}/v2`, spec: { host: 'h', port: '1' } })
    expect(body.metadata).toMatchObject({ deletionTimestamp: timestamp, generation: 2 })
    const gone = await cluster.api.mergePatch(world.path2('/held'), { metadata: { finalizers: null } })
    expect(expectStatus(gone, 200).spec).toMatchObject({ host: 'h', port: '1' })
    expect((await cluster.api.get(world.path1('/held'))).status).toBe(404)
    const { metadata } = await world.create1('loose')
    expect((await cluster.api.delete(world.path2('/loose'))).body).toMatchObject({
      kind: 'Status',
      details: { name: 'loose', uid: metadata.uid },
    })
  })

  test('a deletion of a collection works in another version', async () => {
    const many = await World.start()
    for (const name of ['a', 'b', 'c']) await many.create1({ name, labels: { which: name } })
    expectStatus(await cluster.api.delete(many.path2(), { query: { labelSelector: 'which in (a,b)' } }), 200)
    const { body } = await cluster.api.get(many.path1())
    expect(body.items.map(({ metadata }) => metadata.name)).toEqual(['c'])
  })

  test('concurrent writes in different versions lose no change', async () => {
    await world.create1('many')
    const names = Array.from({ length: 12 }, (_, index) => `n${index}`)
    const paths = [world.path1('/many'), world.path2('/many')]
    const patched = await Promise.all(
      names.map((name, index) =>
        cluster.api.mergePatch(paths[index % 2]!, { metadata: { annotations: { [name]: 'x' } } }),
      ),
    )
    // The real API server gives up on a patch after five conflicts.
    const done = names.filter((_, index) => patched[index]!.status === 200)
    expect(done.length).toBeGreaterThan(0)
    const { body } = await cluster.api.get(world.path2('/many'))
    expect(Object.keys(body.metadata.annotations!).sort()).toEqual(done.sort())
  })
})

describe.concurrent('failed conversions', () => {
  test('a failed conversion fails the request with its reason, and other objects stay readable', async () => {
    const world = await World.start()
    const names = Array.from({ length: 59 }, (_, index) => `n${String(index).padStart(3, '0')}`)
    await Promise.all(names.map((name) => world.create1(name)))
    await world.create1('nothing', { bad: 'yes' })
    const reason = `${world.subject()} failed: cannot convert nothing`
    expectFailure(await cluster.api.get(world.path2('/nothing')), 500, '', reason)
    // The real API server first reports that its cache is not ready, and later reads from etcd.
    const failToList = (query: Record<string, string | number>) =>
      eventually(async () => expectFailure(await cluster.api.get(world.path2(), query), 500, '', reason))
    await failToList({})
    await failToList({ labelSelector: 'a=b' })
    expectFailure(await cluster.api.mergePatch(world.path2('/nothing'), { spec: { port: '1' } }), 500, '', reason)
    expectFailure(await cluster.api.delete(world.path2('/nothing')), 500, '', reason)
    expect(await world.spec2('n007')).toEqual({ host: 'h', port: '1' })
    expect((await cluster.api.get(world.path1())).body.items.length).toBe(60)
    const page = await eventually(async () => expectStatus(await cluster.api.get(world.path2(), { limit: 59 }), 200))
    expect(page.items.length).toBe(59)
    expectStatus(await cluster.api.delete(world.path1('/nothing')), 200)
    await eventually(async () => expect((await cluster.api.get(world.path2())).body.items?.length).toBe(59))
  }, 60_000)

  test('an object whose conversion fails is not stored', async () => {
    const world = await World.start()
    const body = object(`${world.group}/v2`, kind, 'one', { spec: { bad: 'yes' } })
    const reason = `${world.subject('v2')} failed: cannot convert one`
    expectFailure(await cluster.api.post(world.path2(), body), 500, '', reason)
    expect((await cluster.api.get(world.path1('/one'))).status).toBe(404)
    await world.create1('one')
    expectFailure(await cluster.api.mergePatch(world.path2('/one'), { spec: { bad: 'yes' } }), 500, '', reason)
    expect(await world.spec1('one')).toEqual({ first: 'one', hostPort: 'h:1' })
  })

  test('a failed conversion ends the watch after the events before it', async () => {
    const world = await World.start()
    const watch = await cluster.api.watch(world.path2(), { timeoutSeconds: 8 })
    await world.create1('before')
    expect((await watch.next()).object.metadata.name).toBe('before')
    await world.create1('nothing', { bad: 'yes' })
    await world.create1('later')
    const rest = await watch.rest(9000)
    // The embedded server sends an ERROR event with the reason; the real API server only ends the watch.
    expect(rest.filter(({ type }) => type !== 'ERROR')).toEqual([])
  })

  test('requests in the storage version work while the conversion webhook is down', async () => {
    const down = await WebhookServer.start()
    const world = new World()
    down.on('/convert', ({ review }) => converted(review))
    const conversion = {
      strategy: 'Webhook',
      webhook: { clientConfig: down.at('/convert'), conversionReviewVersions: ['v1'] },
    }
    await cluster.installAs({ group: world.group, kind, versions: [v1(), v2()], spec: { conversion } })
    await world.create1('one')
    const { port } = down
    await down.stop()
    const why = `Post "https://127.0.0.1:${port}/convert?timeout=30s": dial tcp 127.0.0.1:${port}: connect: connection refused`
    expectFailure(await cluster.api.get(world.path2('/one')), 500, '', `${world.subject()} failed: ${why}`)
    const body = object(`${world.group}/v2`, kind, 'two', { spec: { host: 'h', port: '1' } })
    expectFailure(await cluster.api.post(world.path2(), body), 500, '', `${world.subject('v2')} failed: ${why}`)
    expect(await world.spec1('one')).toEqual({ first: 'one', hostPort: 'h:1' })
    await world.create1('two')
    expectStatus(await cluster.api.mergePatch(world.path1('/two'), { spec: { hostPort: 'x:2' } }), 200)
    expect((await cluster.api.get(world.path1())).body.items.length).toBe(2)
    expectStatus(await cluster.api.delete(world.path1('/two')), 200)
  })
})

describe('responses of conversion webhooks', () => {
  let world: World
  let uid: string
  beforeAll(async () => {
    world = await World.start()
    uid = (await world.create1('one')).metadata.uid
  })

  type Change = (one: Body) => Tree
  /** A valid response with one changed object. */
  const changed = (change: Change) => (review: Review) => {
    const { objects, desiredAPIVersion } = requestOf(review)
    return respond(review, {
      convertedObjects: objects.map((one) => change({ ...one, apiVersion: desiredAPIVersion })),
    })
  }
  const metadata = (more: Tree) => changed((one) => ({ ...one, metadata: { ...one.metadata, ...more } }))
  const part = (more: Tree) => (review: Review) => respond(review, more)
  const type = (more: Tree) => (review: Review) => ({ body: { ...(converted(review).body as Tree), ...more } })
  const raw = (status: number, body: unknown) => () => ({ status, body })
  const anyType =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
  const wanted = 'expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got'
  const labelName =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

  /** Messages that begin with a space follow `conversion webhook for …`; the others are complete. */
  const cases: ReadonlyArray<readonly [string, (review: Review) => Reply, string]> = [
    [
      'with the status 500',
      raw(500, 'oh no'),
      ' failed: an error on the server ("unknown") has prevented the request from succeeding',
    ],
    [
      'with a Status',
      raw(500, { kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'my words' }),
      ' failed: my words',
    ],
    ['with the status 404', raw(404, 'nothing'), ' failed: the server could not find the requested resource'],
    [
      'with an empty body',
      raw(200, ''),
      ' failed: 0-length response with status code: 200 and content type: application/json',
    ],
    [
      'that is a list',
      raw(200, []),
      ` failed: couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type ${anyType}`,
    ],
    ['without apiVersion and kind', raw(200, {}), ` failed: ${wanted} /, Kind=`],
    [
      'without a kind',
      raw(200, { apiVersion: 'apiextensions.k8s.io/v1' }),
      ` failed: ${wanted} apiextensions.k8s.io/v1, Kind=`,
    ],
    [
      'of another kind',
      type({ kind: 'Foo' }),
      ' failed: no kind "Foo" is registered for version "apiextensions.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [
      'of another version',
      type({ apiVersion: 'apiextensions.k8s.io/v1beta1' }),
      ' failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion',
    ],
    ['without a response', type({ response: null }), ' failed: no response provided'],
    [
      'with a text for a response',
      type({ response: 'x' }),
      ' failed: json: cannot unmarshal string into Go struct field ConversionReview.response of type v1.ConversionResponse',
    ],
    [
      'with a number for a uid',
      part({ uid: 7 }),
      ' failed: json: cannot unmarshal number into Go struct field ConversionResponse.response.uid of type types.UID',
    ],
    [
      'with a text for a result',
      part({ result: 'x' }),
      ' failed: json: cannot unmarshal string into Go struct field ConversionResponse.response.result of type v1.Status',
    ],
    ['without a result', part({ result: undefined }), " failed: response.result.status was '', not 'Success'"],
    [
      'with the result Failure',
      part({ result: { status: 'Failure' } }),
      " failed: response.result.status was 'Failure', not 'Success'",
    ],
    [
      'with a failure message',
      part({ result: { status: 'Failure', message: 'because', code: 418 } }),
      ' failed: because',
    ],
    ['with too few objects', part({}), ' returned 0 objects, expected 1'],
    [
      'with an object for the list of objects',
      part({ convertedObjects: {} }),
      ' failed: json: cannot unmarshal object into Go struct field ConversionResponse.response.convertedObjects of type []runtime.RawExtension',
    ],
    ['with null for an object', part({ convertedObjects: [null] }), 'unexpected end of JSON input'],
    [
      'with a text for an object',
      part({ convertedObjects: ['x'] }),
      'json: cannot unmarshal string into Go value of type map[string]interface {}',
    ],
    ['with an empty object', part({ convertedObjects: [{}] }), "Object 'Kind' is missing in '{}'"],
    [
      'with an object in its old version',
      (review) => respond(review, { convertedObjects: requestOf(review).objects }),
      ' returned invalid object at index 0: invalid groupVersion (expected GROUP/v2, received GROUP/v1)',
    ],
    [
      'with an object of another kind',
      changed((one) => ({ ...one, kind: 'Gadget' })),
      ' returned invalid object at index 0: invalid kind (expected Widget, received Gadget)',
    ],
    [
      'with an object of another name',
      metadata({ name: 'zz' }),
      ' returned invalid object: must have the same name: one != zz',
    ],
    [
      'with an object of another namespace',
      metadata({ namespace: 'zz' }),
      ' returned invalid object: must have the same namespace: NAMESPACE != zz',
    ],
    [
      'with an object of another uid',
      metadata({ uid: 'zz' }),
      ' returned invalid object: must have the same UID: UID != zz',
    ],
    [
      'with an object without metadata',
      changed(({ metadata: _, ...rest }) => rest),
      ' returned invalid object: must have the same name: one != ',
    ],
    [
      'with text for labels',
      metadata({ labels: 'x' }),
      ' returned invalid metadata: invalid metadata.labels of type string in converted object',
    ],
    [
      'with a list for annotations',
      metadata({ annotations: [] }),
      ' returned invalid metadata: invalid metadata.annotations of type []interface {} in converted object',
    ],
    [
      'with a number for a label',
      metadata({ labels: { a: 1 } }),
      ' returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object',
    ],
    [
      'with null for an annotation',
      metadata({ annotations: { a: null } }),
      ' returned invalid metadata: metadata.annotations[a] must be a string, but is <nil> in converted object',
    ],
    [
      'with an invalid label key',
      metadata({ labels: { 'a b': 'c' } }),
      ` returned invalid metadata: metadata.labels: Invalid value: "a b": ${labelName}`,
    ],
    [
      'with an invalid annotation key',
      metadata({ annotations: { 'a b': 'c d' } }),
      ` returned invalid metadata: metadata.annotation: Invalid value: "a b": ${labelName}`,
    ],
  ]

  test.each(cases)('the API server refuses a conversion response %s', async (_, answer, words) => {
    webhooks.on(world.path, ({ review }) => answer(review))
    const expected = words
      .replaceAll('GROUP', world.group)
      .replace('NAMESPACE', cluster.namespace)
      .replace('UID !=', `${uid} !=`)
    const message = words.startsWith(' ') ? `${world.subject()}${expected}` : expected
    expectFailure(await cluster.api.get(world.path2('/one')), 500, '', message)
  })

  test('the API server refuses a conversion response with the uid of another request', async () => {
    webhooks.on(world.path, ({ review }) => respond(review, { uid: 'x"y' }))
    const { body } = await cluster.api.get(world.path2('/one'))
    expect(body['message']).toMatch(/ failed: expected response\.uid="[0-9a-f-]{36}", got "x\\"y"$/)
  })

  test('the API server accepts a conversion response with unknown fields and the status 201', async () => {
    webhooks.on(world.path, ({ review }) => ({ status: 201, body: { ...(converted(review).body as Tree), more: 1 } }))
    expect(await world.spec2('one')).toEqual({ host: 'h', port: '1' })
  })
})

describe('changed CRDs with conversion webhooks', () => {
  test('a new storage version stores new objects, and old objects stay readable', async () => {
    const world = await World.start()
    const old = await world.create1('old')
    const { body: definition } = await cluster.api.get(world.name)
    const versions = [v1({ storage: false }), v2({ storage: true })]
    const changed = expectStatus(
      await cluster.api.put(world.name, { ...definition, spec: { ...definition.spec, versions } }),
      200,
    )
    await crdServed(cluster.api, changed)
    await eventually(async () => {
      // A default of v2 shows that v2 is the storage version now.
      expect((await world.create1({ generateName: 'new-' })).spec).toEqual({ hostPort: 'h:1' })
    })
    expect((await cluster.api.get(world.path1('/old'))).body).toEqual(old)
    expect(await world.spec2('old')).toEqual({ host: 'h', port: '1' })
    await world.create2('new', { host: 'x', port: '2' })
    expect(await world.spec2('new')).toEqual({ host: 'x', port: '2', second: 'two' })
    expect(await world.spec1('new')).toEqual({ hostPort: 'x:2' })
    expectStatus(await cluster.api.mergePatch(world.path1('/old'), { spec: { hostPort: 'y:3' } }), 200)
    expect(await world.spec2('old')).toEqual({ host: 'y', port: '3', second: 'two' })
  })

  test('objects of a removed version cannot be read', async () => {
    const world = await World.start()
    await world.create1('old')
    const { body: definition } = await cluster.api.get(world.name)
    const both = [v1({ storage: false }), v2({ storage: true })]
    expectStatus(
      await cluster.api.put(world.name, { ...definition, spec: { ...definition.spec, versions: both } }),
      200,
    )
    await eventually(async () =>
      expectStatus(await cluster.api.mergePatch(`${world.name}/status`, { status: { storedVersions: ['v2'] } }), 200),
    )
    await eventually(async () =>
      expectStatus(await cluster.api.mergePatch(world.name, { spec: { versions: [v2({ storage: true })] } }), 200),
    )
    await eventually(async () => {
      const answer = await cluster.api.get(world.path2('/old'))
      const message = `request to convert CR from an invalid group/version: ${world.group}/v1`
      expectFailure(answer, 500, '', message)
    })
    // An unreadable object would block the deletion of its CRD and of every namespace.
    expectStatus(await cluster.api.mergePatch(world.name, { spec: { versions: both } }), 200)
    await eventually(async () => expectStatus(await cluster.api.delete(world.path2('/old')), 200))
  })

  test('a CRD that drops its conversion webhook converts by the apiVersion only', async () => {
    const world = await World.start()
    await world.create1('one', { hostPort: 'h:1', note: 'kept' })
    expect(await world.spec2('one')).toEqual({ host: 'h', port: '1', note: 'kept' })
    const conversion = { strategy: 'None', webhook: null }
    expectStatus(await cluster.api.mergePatch(world.name, { spec: { conversion } }), 200)
    await eventually(async () => expect(await world.spec2('one')).toEqual({ note: 'kept' }))
  })
})

describe('admission and conversion webhooks', () => {
  test('admission webhooks get an object in the version of their rule, and patch it in that version', async () => {
    const world = await World.start()
    const rules = [{ apiGroups: [world.group], apiVersions: ['v1'], operations: ['*'], resources: ['widgets'] }]
    const creation = [{ ...rules[0], operations: ['CREATE'] }]
    const operations = [{ op: 'replace', path: '/spec/hostPort', value: 'changed:9' }]
    webhooks.on('/change', ({ review }) => reviewed(review, patching(...operations)))
    webhooks.on('/look', allow)
    await admission.install('Mutating', 'change', admission.hook('change', '/change', { rules: creation }))
    await admission.install('Validating', 'look', admission.hook('look', '/look', { rules }))
    const made = await world.create2('one')
    expect(made.spec).toEqual({ host: 'changed', port: '9' })
    const [{ request }] = webhooks.reviews('/change') as [Review]
    const own = { group: world.group, kind }
    expect(request).toMatchObject({ kind: { ...own, version: 'v1' }, requestKind: { ...own, version: 'v2' } })
    expect(request['object']).toMatchObject({
      apiVersion: `${world.group}/v1`,
      // The schema of the other version neither prunes fields nor fills in defaults.
      spec: { hostPort: 'h:1', second: 'two' },
    })
    const [{ request: seen }] = webhooks.reviews('/look') as [Review]
    expect(seen['object']).toMatchObject({ apiVersion: `${world.group}/v1`, spec: { hostPort: 'changed:9' } })
    webhooks.on('/look', allow)
    expectStatus(await cluster.api.delete(world.path2('/one')), 200)
    const [{ request: last }] = webhooks.reviews('/look') as [Review]
    expect(last['oldObject']).toMatchObject({ apiVersion: `${world.group}/v1`, spec: { hostPort: 'changed:9' } })
    await admission.clear()
  })

  test('admission webhooks are not called for an object that cannot be converted', async () => {
    const world = await World.start()
    const rules = [{ apiGroups: [world.group], apiVersions: ['v1'], operations: ['*'], resources: ['widgets'] }]
    webhooks.on('/look', allow)
    await admission.install('Validating', 'look', admission.hook('look', '/look', { rules }))
    const body = object(`${world.group}/v2`, kind, 'one', { spec: { bad: 'yes' } })
    const message = `${world.subject('v2')} failed: cannot convert one`
    const answer = await cluster.api.post(world.path2(), body)
    expectFailure(answer, 500, 'InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] })
    expect(webhooks.reviews('/look')).toEqual([])
    await admission.clear()
  })
})
