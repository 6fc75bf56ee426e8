/** Reading one object: as itself, as a Table, as its metadata, and what is answered where there is none. */
import { beforeAll, describe, expect, test } from 'vitest'
import { useCluster } from '../support/cluster.ts'
import { expectFailure, expectStatus } from '../support/expectations.ts'
import { noSuchResource, notAcceptable } from '../support/messages.ts'
import { configMap, object } from '../support/objects.ts'

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

describe('an object that is not there', () => {
  test('is not found', async () => {
    const answer = await cluster.api.get(cluster.core('configmaps/none'))
    expectFailure(answer, 404, 'NotFound', 'configmaps "none" not found', { name: 'none', kind: 'configmaps' })
  })

  test('is not found by its group', async () => {
    const answer = await cluster.api.get(cluster.grouped('apps/v1', 'deployments/none'))
    const details = { name: 'none', group: 'apps', kind: 'deployments' }
    expectFailure(answer, 404, 'NotFound', 'deployments.apps "none" not found', details)
  })

  test('is not found on a custom kind', async () => {
    const answer = await cluster.api.get(cluster.custom('widgets/none'))
    const details = { name: 'none', group: cluster.group, kind: 'widgets' }
    expectFailure(answer, 404, 'NotFound', `widgets.${cluster.group} "none" not found`, details)
  })

  test('is not found in a namespace that is not there, without a word about the namespace', async () => {
    const answer = await cluster.api.get('/api/v1/namespaces/nowhere/configmaps/none')
    expectFailure(answer, 404, 'NotFound', 'configmaps "none" not found', { name: 'none', kind: 'configmaps' })
  })

  test('is not found under a name that cannot be one', async () => {
    const answer = await cluster.api.get(cluster.core('configmaps/Not_A_Name'))
    expect(answer.status).toBe(404)
    expect(answer.body['message']).toBe('configmaps "Not_A_Name" not found')
  })

  test('is not found in another namespace than its own', async () => {
    const answer = await cluster.api.get('/api/v1/namespaces/default/configmaps/one')
    expect(answer.status).toBe(404)
  })
})

describe('the media type', () => {
  test.each(['application/json', '*/*', 'application/yaml;q=0.1, application/json', 'text/html, */*;q=0.1'])(
    'is JSON for %s',
    async (accept) => {
      const answer = await cluster.api.get(path(), {}, { accept })
      expect(answer.status).toBe(200)
      expect(answer.headers['content-type']).toBe('application/json')
      expect(answer.body.kind).toBe('ConfigMap')
    },
  )

  test('is YAML where that is asked for', async () => {
    const answer = await cluster.api.get(path(), {}, { accept: 'application/yaml' })
    expect(answer.headers['content-type']).toBe('application/yaml')
    expect(answer.text).toContain('kind: ConfigMap\n')
  })

  test.each(['text/plain', 'image/png'])('is refused for %s', async (accept) => {
    const ofBuiltIn = await cluster.api.get(path(), {}, { accept })
    const available = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'
    const message = `406: Not Acceptable\n\nAvailable representations: ${available}`
    expectFailure(ofBuiltIn, 406, 'NotAcceptable', message, {})
    const ofCustom = await cluster.api.get(widgetPath(), {}, { accept })
    expectFailure(ofCustom, 406, 'NotAcceptable', notAcceptable)
  })

  test('is refused for JSON in a form that is none', async () => {
    for (const each of [path(), widgetPath()]) {
      const answer = await cluster.api.get(each, {}, { accept: 'application/json;as=Nonsense;v=v1;g=meta.k8s.io' })
      expectFailure(answer, 406, 'NotAcceptable', notAcceptable)
    }
  })

  test('is JSON for a client that would rather have protobuf of a custom kind', async () => {
    const accept = 'application/vnd.kubernetes.protobuf,application/json'
    const answer = await cluster.api.get(widgetPath(), {}, { accept })
    expect(answer.headers['content-type']).toBe('application/json')
  })
})

describe('a Table', () => {
  test('has the columns of the kind and one row', async () => {
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

  test('of a custom kind has name and age unless it says otherwise', async () => {
    const { body } = await cluster.api.get(widgetPath(), {}, { accept: asTable })
    const columns = body.columnDefinitions.map(({ name, type, format, priority }) => [name, type, format, priority])
    expect(columns).toEqual([
      ['Name', 'string', 'name', 0],
      ['Age', 'date', '', 0],
    ])
    expect(body.rows[0]!.cells).toEqual(['one', expect.stringMatching(/^\d+s$/)])
  })

  test('has the version of the object, and its metadata in the row', async () => {
    const { metadata } = (await cluster.api.get(widgetPath())).body
    const { body } = await cluster.api.get(widgetPath(), {}, { accept: asTable })
    expect(body.metadata).toEqual({ resourceVersion: metadata.resourceVersion })
    expect(body.rows[0]!.object).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata })
  })

  test('has the whole object in the row where asked', async () => {
    const whole = (await cluster.api.get(widgetPath())).body
    const { body } = await cluster.api.get(widgetPath(), { includeObject: 'Object' }, { accept: asTable })
    expect(body.rows[0]!.object).toEqual(whole)
  })

  test('has no object in the row where asked', async () => {
    const { body } = await cluster.api.get(widgetPath(), { includeObject: 'None' }, { accept: asTable })
    expect(body.rows[0]!.object).toBeNull()
  })

  test('is preferred to JSON by its place in the header', async () => {
    const { body } = await cluster.api.get(path(), {}, { accept: `${asTable},application/json` })
    expect(body.kind).toBe('Table')
  })

  test('is told by its media type', async () => {
    const answer = await cluster.api.get(path(), {}, { accept: asTable })
    expect(answer.headers['content-type']).toBe('application/json')
  })
})

describe('PartialObjectMetadata', () => {
  test.each([path, widgetPath])('is the metadata alone', async (each) => {
    const { metadata } = (await cluster.api.get(each())).body
    const { body } = await cluster.api.get(each(), {}, { accept: asMetadata })
    expect(body).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata })
  })
})

describe('a version asked for', () => {
  test('may be any there was so far', async () => {
    const { body } = await cluster.api.get(path())
    for (const resourceVersion of ['0', body.metadata.resourceVersion]) {
      const answer = await cluster.api.get(path(), { resourceVersion })
      expect(answer.body).toEqual(body)
    }
  })

  test('must not be in the future', async () => {
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

  test('must be a number', async () => {
    const answer = await cluster.api.get(path(), { resourceVersion: 'abc' })
    const message = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    expectFailure(answer, 500, '', message)
  })
})

describe('a subresource', () => {
  test('that a built-in kind does not have is not found', async () => {
    const answer = await cluster.api.get(`${path()}/status`)
    expectFailure(answer, 404, 'NotFound', noSuchResource, {})
  })

  test('that a custom kind does not have is not found', async () => {
    const answer = await cluster.api.get(`${widgetPath()}/status`)
    const details = { name: 'one', group: cluster.group, kind: 'widgets' }
    expectFailure(answer, 404, 'NotFound', `widgets.${cluster.group} "one" not found`, details)
  })
})
