/** Hostile contents: names of JavaScript properties, deep and large objects, unusual text. The server answers and goes on. */
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus } from '../../../support/expectations.ts'
import { namePart } from '../../../support/messages.ts'
import { configMap, object } from '../../../support/objects.ts'

const cluster = useCluster()
const configMaps = () => cluster.core('configmaps')
const widgets = () => cluster.custom('widgets')

beforeAll(() => cluster.install({ kind: 'Widget' }))

afterEach(async () => {
  expect((await cluster.api.get('/healthz')).text).toBe('ok')
})

/** A custom object as text, since keys such as `__proto__` cannot be written in an object literal. */
const widgetText = (name: string, rest: string) =>
  `{"apiVersion":"${cluster.group}/v1","kind":"Widget","metadata":{"name":"${name}"},${rest}}`

describe('keys named like JavaScript properties', () => {
  const pairs = '"__proto__":"x","constructor":"y","hasOwnProperty":"z","prototype":"p","toString":"t"'

  test('the data of a ConfigMap keeps keys named like JavaScript properties', async () => {
    const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"proto"},"data":{${pairs}}}`
    expectStatus(await cluster.api.post(configMaps(), text), 201)
    const { text: read } = await cluster.api.get(`${configMaps()}/proto`)
    expect(read).toContain(`"data":{${pairs}}`)
  })

  test('custom objects keep keys named like JavaScript properties on all levels', async () => {
    const spec = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    expectStatus(await cluster.api.post(widgets(), widgetText('proto', `"__proto__":{"b":1},"spec":${spec}`)), 201)
    const { text } = await cluster.api.get(`${widgets()}/proto`)
    expect(text).toContain(`"spec":${spec}`)
    expect(text).toContain('"__proto__":{"b":1}')
  })

  test('a merge patch merges keys named like JavaScript properties', async () => {
    const spec = '{"__proto__":{"a":1},"constructor":{"b":1}}'
    expectStatus(await cluster.api.post(widgets(), widgetText('merged', `"spec":${spec}`)), 201)
    const patch = '{"spec":{"__proto__":{"c":1},"constructor":null}}'
    expectStatus(await cluster.api.mergePatch(`${widgets()}/merged`, patch), 200)
    const { text } = await cluster.api.get(`${widgets()}/merged`)
    expect(text).toContain('"spec":{"__proto__":{"a":1,"c":1}}')
  })

  test('a JSON patch reaches keys named like JavaScript properties', async () => {
    expectStatus(await cluster.api.post(widgets(), widgetText('patched', '"spec":{"__proto__":{"a":1}}')), 201)
    const operations = [
      { op: 'add', path: '/spec/__proto__/x', value: 1 },
      { op: 'add', path: '/spec/constructor', value: {} },
      { op: 'add', path: '/spec/constructor/prototype', value: 1 },
    ]
    expectStatus(await cluster.api.jsonPatch(`${widgets()}/patched`, operations), 200)
    const { text } = await cluster.api.get(`${widgets()}/patched`)
    expect(text).toContain('"spec":{"__proto__":{"a":1,"x":1},"constructor":{"prototype":1}}')
  })

  test('a JSON patch does not find JavaScript properties that the object does not have', async () => {
    expectStatus(await cluster.api.post(widgets(), widgetText('unpatched', '"spec":{}')), 201)
    for (const path of ['/spec/__proto__/polluted', '/spec/constructor/prototype/polluted']) {
      const answer = await cluster.api.jsonPatch(`${widgets()}/unpatched`, [{ op: 'add', path, value: 1 }])
      const message = 'the server rejected our request due to an error in our request'
      expectFailure(answer, 422, 'Invalid', message, {})
    }
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
  })

  test('labels may be named like JavaScript properties where they are valid labels', async () => {
    const labels = { constructor: 'x', toString: 'y' }
    const { body } = await cluster.api.post(configMaps(), configMap({ name: 'labelled', labels }))
    expect(body.metadata.labels).toEqual(labels)
    const text = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"refused","labels":{"__proto__":"x"}}}'
    const message = `metadata.labels: Invalid value: "__proto__": ${namePart}`
    expectInvalid(await cluster.api.post(configMaps(), text), { kind: 'ConfigMap', name: 'refused' }, message)
  })

  test('objects may be named like JavaScript properties', async () => {
    expectStatus(await cluster.api.post(configMaps(), configMap('constructor')), 201)
    expect((await cluster.api.get(`${configMaps()}/constructor`)).body.metadata.name).toBe('constructor')
    for (const name of ['tostring', 'valueof']) {
      expect((await cluster.api.get(`${configMaps()}/${name}`)).status).toBe(404)
    }
  })

  test.each([
    '/api/v1/__proto__',
    '/api/v1/constructor',
    '/api/v1/namespaces/default/hasOwnProperty',
    '/apis/apps/__proto__',
  ])('a JavaScript property is not a resource: %s', async (path) => {
    expect((await cluster.api.get(path)).status).toBe(404)
  })

  test('the API server ignores query parameters named like JavaScript properties', async () => {
    const answer = await cluster.api.get(configMaps(), '__proto__=1&constructor=2&limit=1&labelSelector=')
    expect(answer.status).toBe(200)
  })

  test.each(['__proto__', 'constructor.prototype'])(
    'a field selector with a JavaScript property is a bad request: %s',
    async (field) => {
      const answer = await cluster.api.get(configMaps(), { fieldSelector: `${field}=x` })
      expect(answer.status).toBe(400)
    },
  )
})

describe('depth of objects', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const listed = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const exceeded = (character: string) => `invalid character '${character}' exceeded max depth`

  test('a custom object of a thousand levels is stored and patched', async () => {
    expectStatus(await cluster.api.post(widgets(), widgetText('deep', `"spec":${nested(1000)}`)), 201)
    const { text } = await cluster.api.get(`${widgets()}/deep`)
    expect(text).toContain(`"spec":${nested(1000)}`)
    expectStatus(await cluster.api.mergePatch(`${widgets()}/deep`, `{"spec":${nested(999)}}`), 200)
  })

  test.each([
    ['objects', nested, '{'],
    ['lists', listed, '['],
  ])('the API server refuses a custom object with a hundred thousand nested %s', async (_, make, character) => {
    const answer = await cluster.api.post(widgets(), widgetText('too-deep', `"spec":{"x":${make(100_000)}}`))
    expect(answer.status).toBe(400)
    const why = `couldn't get version/kind; json parse error: ${exceeded(character)}`
    const expected = `the object provided is unrecognized (must be of type Widget): ${why}`
    expect((answer.body['message'] as string).startsWith(expected)).toBe(true)
  })

  test('the API server refuses a built-in object with a hundred thousand nested objects', async () => {
    const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"data":${nested(100_000)}}`
    const answer = await cluster.api.post(configMaps(), text)
    expect([answer.status, answer.body['reason']]).toEqual([400, 'BadRequest'])
  })

  test('the API server refuses patches with a hundred thousand nested objects', async () => {
    expectStatus(await cluster.api.post(widgets(), widgetText('shallow', '"spec":{}')), 201)
    const message = `error decoding patch: ${exceeded('{')}`
    const merged = await cluster.api.mergePatch(`${widgets()}/shallow`, `{"spec":${nested(100_000)}}`)
    expectFailure(merged, 400, 'BadRequest', message)
    const value = nested(100_000)
    const patched = await cluster.api.jsonPatch(
      `${widgets()}/shallow`,
      `[{"op":"add","path":"/spec","value":${value}}]`,
    )
    expectFailure(patched, 400, 'BadRequest', message)
  })
})

describe('size of objects', () => {
  test('an object may have ten thousand finalizers', async () => {
    const finalizers = Array.from({ length: 10_000 }, (_, n) => `example.com/${n}`)
    const { body } = await cluster.api.post(
      widgets(),
      object(`${cluster.group}/v1`, 'Widget', { name: 'many', finalizers }),
    )
    expect(body.metadata.finalizers).toEqual(finalizers)
    expectStatus(await cluster.api.delete(`${widgets()}/many`), 200)
    expectStatus(await cluster.api.mergePatch(`${widgets()}/many`, { metadata: { finalizers: null } }), 200)
    expect((await cluster.api.get(`${widgets()}/many`)).status).toBe(404)
  })

  test('an object may have a thousand labels', async () => {
    const labels = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`key-${n}`, `value-${n}`]))
    const { body } = await cluster.api.post(configMaps(), configMap({ name: 'many-labels', labels }))
    expect(body.metadata.labels).toEqual(labels)
    const labelSelector = 'key-999=value-999,key-0=value-0'
    expect((await cluster.api.get(configMaps(), { labelSelector })).body.items).toHaveLength(1)
  })

  test('a name of 5,000 characters in the path is not found', async () => {
    const name = 'a'.repeat(5000)
    const answer = await cluster.api.get(`${configMaps()}/${name}`)
    expectFailure(answer, 404, 'NotFound', `configmaps "${name}" not found`, { name, kind: 'configmaps' })
  })

  test('a label selector may have a thousand values', async () => {
    const labelSelector = `a in (${Array.from({ length: 1000 }, (_, n) => `v${n}`).join(',')})`
    const answer = await cluster.api.get(configMaps(), { labelSelector })
    expect(answer.status).toBe(200)
  })

  test('a pattern in a schema takes linear time', async () => {
    const group = `slow.${cluster.group}`
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } } },
    }
    await cluster.installAs({ group, kind: 'Slow', schema })
    const path = `/apis/${group}/v1/namespaces/${cluster.namespace}/slows`
    const body = object(`${group}/v1`, 'Slow', 'slow', { spec: { text: `${'a'.repeat(50)}!` } })
    expect((await cluster.api.post(path, body)).status).toBe(422)
  })
})

describe('text', () => {
  test.each([
    ['other alphabets', 'žluťoučký кінь 馬 🐎'],
    ['control characters', '\u0000\u0001\u001f\u007f\u0085\u2028\u2029\ufeff'],
    ['HTML markup', '<script>&amp;"\'</script>'],
    ['line ends', 'a\r\nb\rc\n'],
    ['backslashes', '\\u0041 \\\\ \\"'],
  ])('text with %s is stored unchanged', async (title, text) => {
    const name = title.replaceAll(' ', '-').toLowerCase()
    const { body } = await cluster.api.post(configMaps(), configMap(name, { data: { text } }))
    expect((body['data'] as Tree)['text']).toBe(text)
    expect(((await cluster.api.get(`${configMaps()}/${name}`)).body['data'] as Tree)['text']).toBe(text)
  })

  test('text with half a surrogate pair gets a replacement character', async () => {
    const text =
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"half"},"data":{"a":"\\ud800","b":"\\ud83d\\ude00"}}'
    const { body } = await cluster.api.post(configMaps(), text)
    expect(body['data']).toEqual({ a: '\ufffd', b: '😀' })
  })

  test('a JSON body may have white space around it', async () => {
    const text = `\n\t ${JSON.stringify(configMap('spaced'))} \r\n`
    expect((await cluster.api.post(configMaps(), text)).status).toBe(201)
  })

  test.each([
    ['a byte order mark', '\ufeff{}', "invalid character 'ï' looking for beginning of value (efbbbf7b7d)"],
    ['a comment', '/**/{}', "invalid character '/' looking for beginning of value (2f2a2a2f7b7d)"],
    ['a trailing comma', '{"a":1,}', `invalid character '}' looking for beginning of object key string ({"a":1,})`],
    ['NaN', '{"a":NaN}', `invalid character 'N' looking for beginning of value ({"a":NaN})`],
    ['single quotes', "{'a':1}", `invalid character '\\'' looking for beginning of object key string ({'a':1})`],
    ['a leading zero in a number', '{"a":01}', `invalid character '1' after object key:value pair ({"a":01})`],
    ['an unescaped line break in a string', '{"a":"\n"}', `invalid character '\\n' in string literal ({"a":"\n"})`],
  ])('the API server refuses JSON with %s', async (_, text, why) => {
    const answer = await cluster.api.post(configMaps(), text)
    const message = `the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ${why}`
    expectFailure(answer, 400, 'BadRequest', message)
  })
})

describe('numbers', () => {
  test('numbers are read in their shortest form', async () => {
    const spec = '{"exact":9007199254740991,"negative":-5,"one":1.0,"hundred":1e2,"small":1e-7,"part":0.1}'
    expectStatus(await cluster.api.post(widgets(), widgetText('numbers', `"spec":${spec}`)), 201)
    const { body } = await cluster.api.get(`${widgets()}/numbers`)
    expect(body.spec).toEqual({ exact: 9007199254740991, negative: -5, one: 1, hundred: 100, small: 1e-7, part: 0.1 })
  })
})

describe('paths', () => {
  test.each(['%2e%2e', '..', '.', '%2e'])('an object in a path cannot have the name %j', async (name) => {
    const answer = await cluster.api.get(`${configMaps()}/${name}`)
    const plain = decodeURIComponent(name)
    expectFailure(answer, 400, 'BadRequest', `Name parameter invalid: "${plain}": may not be '${plain}'`)
  })

  test('an escaped slash in a path separates a subresource from the name', async () => {
    expect((await cluster.api.get(`${configMaps()}/a%2fb`)).status).toBe(404)
  })

  test('an incomplete escape in a path is a bad request', async () => {
    expect((await cluster.api.get(`${configMaps()}/%zz`)).status).toBe(400)
  })

  test('an escaped name in a path is decoded', async () => {
    expectStatus(await cluster.api.post(configMaps(), configMap('escaped')), 201)
    expect((await cluster.api.get(`${configMaps()}/%65scaped`)).status).toBe(200)
  })

  test('an escaped path in place of a namespace does not leave the namespace', async () => {
    const answer = await cluster.api.get(`/api/v1/namespaces/${cluster.namespace}%2f..%2fdefault/configmaps`)
    expect(answer.status).toBe(404)
  })
})
