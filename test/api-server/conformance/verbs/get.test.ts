/** Reading one object: as JSON or YAML, as a Table, as PartialObjectMetadata; and the answers for missing objects. */
import { beforeAll, describe, expect, test } from 'vitest'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectStatus } from '../../../support/expectations.ts'
import { noSuchResource, notAcceptable } from '../../../support/messages.ts'
import { configMap, object } from '../../../support/objects.ts'

const cluster = useCluster()
const path = () => cluster.core('configmaps/one')
const widgetPath = () => cluster.custom('widgets/one')

const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io'
const asMetadata = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'

beforeAll(async () => {
  await cluster.install({ kind: 'Widget' })
  const metadata = { name: 'one', labels: { a: 'b' }, annotations: { c: 'd' } }
  expectStatus(
    await cluster.api.post(cluster.core('configmaps'), configMap(metadata, { data: { x: '1', y: '2' } })),
    201,
  )
  const widget = object(`${cluster.group}/v1`, 'Widget', metadata, { spec: { size: 1 } })
  expectStatus(await cluster.api.post(cluster.custom('widgets'), widget), 201)
})

describe('missing objects', () => {
  test('the API server answers 404 for a missing object', async () => {
    const answer = await cluster.api.get(cluster.core('configmaps/none'))
    expectFailure(answer, 404, 'NotFound', 'configmaps "none" not found', { name: 'none', kind: 'configmaps' })
  })

  test('the answer for a missing object names its group', async () => {
    const answer = await cluster.api.get(cluster.grouped('apps/v1', 'deployments/none'))
    const details = { name: 'none', group: 'apps', kind: 'deployments' }
    expectFailure(answer, 404, 'NotFound', 'deployments.apps "none" not found', details)
  })

  test('the API server answers 404 for a missing custom object', async () => {
    const answer = await cluster.api.get(cluster.custom('widgets/none'))
    const details = { name: 'none', group: cluster.group, kind: 'widgets' }
    expectFailure(answer, 404, 'NotFound', `widgets.${cluster.group} "none" not found`, details)
  })

  test('the answer for an object in a missing namespace does not mention the namespace', async () => {
    const answer = await cluster.api.get('/api/v1/namespaces/nowhere/configmaps/none')
    expectFailure(answer, 404, 'NotFound', 'configmaps "none" not found', { name: 'none', kind: 'configmaps' })
  })

  test('the API server answers 404 for a malformed name', async () => {
    const answer = await cluster.api.get(cluster.core('configmaps/Not_A_Name'))
    expect(answer.status).toBe(404)
    expect(answer.body['message']).toBe('configmaps "Not_A_Name" not found')
  })

  test('the API server answers 404 for an object of another namespace', async () => {
    const answer = await cluster.api.get('/api/v1/namespaces/default/configmaps/one')
    expect(answer.status).toBe(404)
  })
})

describe('media types', () => {
  test.each(['application/json', '*/*', 'application/yaml;q=0.1, application/json', 'text/html, */*;q=0.1'])(
    'the API server answers with JSON to the Accept header %s',
    async (accept) => {
      const answer = await cluster.api.get(path(), {}, { accept })
      expect(answer.status).toBe(200)
      expect(answer.headers['content-type']).toBe('application/json')
      expect(answer.body.kind).toBe('ConfigMap')
    },
  )

  test('the API server answers with YAML to the Accept header application/yaml', async () => {
    const answer = await cluster.api.get(path(), {}, { accept: 'application/yaml' })
    expect(answer.headers['content-type']).toBe('application/yaml')
    expect(answer.text).toContain('kind: ConfigMap\n')
  })

  test.each(['text/plain', 'image/png'])('the API server answers 406 to the Accept header %s', async (accept) => {
    const ofBuiltIn = await cluster.api.get(path(), {}, { accept })
    const available = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
    const message = `406: Not Acceptable\n\nAvailable representations: ${available}`
    expectFailure(ofBuiltIn, 406, 'NotAcceptable', message, {})
    const ofCustom = await cluster.api.get(widgetPath(), {}, { accept })
    expectFailure(ofCustom, 406, 'NotAcceptable', notAcceptable)
  })

  test('the API server answers 406 to JSON in an unknown form', async () => {
    for (const each of [path(), widgetPath()]) {
      const answer = await cluster.api.get(each, {}, { accept: 'application/json;as=Nonsense;v=v1;g=meta.k8s.io' })
      expectFailure(answer, 406, 'NotAcceptable', notAcceptable)
    }
  })

  test('the API server answers with JSON where a client prefers protobuf for a custom kind', async () => {
    const accept = 'application/vnd.kubernetes.protobuf,application/json'
    const answer = await cluster.api.get(widgetPath(), {}, { accept })
    expect(answer.headers['content-type']).toBe('application/json')
  })
})

describe('tables', () => {
  test('the Table of an object has the columns of its kind and one row', async () => {
    const { body } = await cluster.api.get(path(), {}, { accept: asTable })
    expect(body).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' })
    const columns = body.columnDefinitions.map(({ name, type, format, priority }) => [name, type, format, priority])
    expect(columns).toEqual([
      ['Name', 'string', 'name', 0],
      ['Data', 'string', '', 0],
      ['Age', 'string', '', 0],
    ])
    expect(body.rows).toHaveLength(1)
    expect(body.rows[0]!.cells).toEqual(['one', 2, expect.stringMatching(/^\d+s$/)])
  })

  test('the Table of a custom object has name and age by default', async () => {
    const { body } = await cluster.api.get(widgetPath(), {}, { accept: asTable })
    const columns = body.columnDefinitions.map(({ name, type, format, priority }) => [name, type, format, priority])
    expect(columns).toEqual([
      ['Name', 'string', 'name', 0],
      ['Age', 'date', '', 0],
    ])
    expect(body.rows[0]!.cells).toEqual(['one', expect.stringMatching(/^\d+s$/)])
  })

  test('the Table of an object has its resourceVersion, and its metadata in the row', async () => {
    const { metadata } = (await cluster.api.get(widgetPath())).body
    const { body } = await cluster.api.get(widgetPath(), {}, { accept: asTable })
    expect(body.metadata).toEqual({ resourceVersion: metadata.resourceVersion })
    expect(body.rows[0]!.object).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata })
  })

  test('the Table of an object has the whole object in the row with includeObject=Object', async () => {
    const whole = (await cluster.api.get(widgetPath())).body
    const { body } = await cluster.api.get(widgetPath(), { includeObject: 'Object' }, { accept: asTable })
    expect(body.rows[0]!.object).toEqual(whole)
  })

  test('the Table of an object has no object in the row with includeObject=None', async () => {
    const { body } = await cluster.api.get(widgetPath(), { includeObject: 'None' }, { accept: asTable })
    expect(body.rows[0]!.object).toBeNull()
  })

  test('the API server prefers the first media type of the Accept header', async () => {
    const { body } = await cluster.api.get(path(), {}, { accept: `${asTable},application/json` })
    expect(body.kind).toBe('Table')
  })

  test('the content type of a Table is application/json', async () => {
    const answer = await cluster.api.get(path(), {}, { accept: asTable })
    expect(answer.headers['content-type']).toBe('application/json')
  })
})

describe('PartialObjectMetadata', () => {
  test.each([path, widgetPath])('PartialObjectMetadata has only the metadata of the object', async (each) => {
    const { metadata } = (await cluster.api.get(each())).body
    const { body } = await cluster.api.get(each(), {}, { accept: asMetadata })
    expect(body).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata })
  })
})

describe('resourceVersion of a GET', () => {
  test('a GET accepts any past resourceVersion', async () => {
    const { body } = await cluster.api.get(path())
    for (const resourceVersion of ['0', body.metadata.resourceVersion]) {
      const answer = await cluster.api.get(path(), { resourceVersion })
      expect(answer.body).toEqual(body)
    }
  })

  test('a GET with a future resourceVersion times out', async () => {
    const answer = await cluster.api.get(path(), { resourceVersion: '1000000000' })
    expect(answer.status).toBe(504)
    expect(answer.headers['retry-after']).toBe('1')
    expect(answer.body).toMatchObject({
      reason: 'Timeout',
      message: expect.stringMatching(/^Timeout: Too large resource version: 1000000000, current: \d+$/),
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
    })
  })

  test('a GET with a malformed resourceVersion fails', async () => {
    const answer = await cluster.api.get(path(), { resourceVersion: 'abc' })
    const message = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    expectFailure(answer, 500, '', message)
  })
})

describe('missing subresources', () => {
  test('a subresource that a built-in kind does not have is not found', async () => {
    const answer = await cluster.api.get(`${path()}/status`)
    expectFailure(answer, 404, 'NotFound', noSuchResource, {})
  })

  test('a subresource that a custom kind does not have is not found', async () => {
    const answer = await cluster.api.get(`${widgetPath()}/status`)
    const details = { name: 'one', group: cluster.group, kind: 'widgets' }
    expectFailure(answer, 404, 'NotFound', `widgets.${cluster.group} "one" not found`, details)
  })
})
