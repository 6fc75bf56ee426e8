import { describe, expect, test } from 'vitest'
import { createHandler } from '../handler-definitions.ts'
import { ABSENT, PRESENT } from '../handlers/filters.ts'
import type { AdmissionHandler } from '../handlers/handler.ts'
import type { Resource } from '../kube/resources/resources.ts'
import { atPath, buildWebhooks, servicePath } from './build-webhooks.ts'

const clientConfig = { url: 'https://example.com' }

function resource(plural: string, fields: Partial<Resource> = {}): Resource {
  return {
    group: 'example.com',
    version: 'v1',
    plural,
    kind: plural,
    singular: plural,
    shortcuts: [],
    categories: [],
    subresources: [],
    namespaced: true,
    preferred: true,
    verbs: ['list'],
    ...fields,
  }
}

function handlerOf(
  options: object,
  like: string = 'widgets',
  kind: 'validate' | 'mutate' = 'validate',
): AdmissionHandler {
  return createHandler(kind, like, { id: 'check', ...options }, () => {})
}

function build(handlers: readonly AdmissionHandler[], resources: readonly Resource[] = [resource('widgets')]) {
  return buildWebhooks({ handlers, resources, suffix: 'auto.kopf.dev', clientConfig })
}

const namesOf = (...ids: string[]) => build(ids.map((id) => handlerOf({ id }))).map(({ name }) => name)

/** The requirement of the API server for webhook names. */
const isSubdomain = (name: string) =>
  name.length <= 253 && name.split('.').every((label) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(label))

test('a webhook entry has all fields that the API server would default', () => {
  expect(build([handlerOf({ id: 'some_fn', sideEffects: true }, 'widgets', 'mutate')])).toEqual([
    {
      name: 'some-fn.auto.kopf.dev',
      sideEffects: 'NoneOnDryRun',
      failurePolicy: 'Fail',
      matchPolicy: 'Equivalent',
      rules: [
        { apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['widgets'], operations: ['*'], scope: '*' },
      ],
      objectSelector: {},
      namespaceSelector: {},
      clientConfig: { url: 'https://example.com/some_fn' },
      timeoutSeconds: 30,
      admissionReviewVersions: ['v1', 'v1beta1'],
      reinvocationPolicy: 'Never',
    },
  ])
})

test.each<[string, object, object]>([
  ['no side effects', {}, { sideEffects: 'None' }],
  ['side effects', { sideEffects: true }, { sideEffects: 'NoneOnDryRun' }],
  ['failures', {}, { failurePolicy: 'Fail' }],
  ['ignored failures', { ignoreFailures: true }, { failurePolicy: 'Ignore' }],
  ['operations', { operations: ['UPDATE', 'CREATE'] }, { rules: [{ operations: ['UPDATE', 'CREATE'] }] }],
  ['a subresource', { subresource: 'status' }, { rules: [{ resources: ['widgets/status'] }] }],
  ['all subresources', { subresource: '*' }, { rules: [{ resources: ['widgets/*'] }] }],
  [
    'label filters without callbacks',
    { labels: { a: 'x', b: PRESENT, c: ABSENT, d: () => true } },
    {
      objectSelector: {
        matchExpressions: [
          { key: 'a', operator: 'In', values: ['x'] },
          { key: 'b', operator: 'Exists' },
          { key: 'c', operator: 'DoesNotExist' },
        ],
      },
    },
  ],
  ['callbacks in label filters, which are omitted', { labels: { d: () => true } }, { objectSelector: {} }],
  ['annotation filters, which are omitted', { annotations: { a: 'x' } }, { objectSelector: {} }],
])('a webhook entry reflects %s', (_name, options, expected) => {
  expect(build([handlerOf(options)])).toMatchObject([expected])
})

describe('webhook rules', () => {
  const pods = [resource('pods', { group: '' }), resource('pods', { group: 'metrics.k8s.io' })]
  const versions = [resource('widgets'), resource('widgets', { version: 'v2', preferred: false })]
  const groups = [resource('widgets'), resource('widgets', { group: 'example.org' })]
  test.each<[string, string, readonly Resource[], readonly string[]]>([
    ['the core group rather than other groups', 'pods', pods, ['/v1']],
    ['the preferred version', 'widgets', versions, ['example.com/v1']],
    ['the requested version', 'widgets.v2.example.com', versions, ['example.com/v2']],
    ['all groups that serve the name', 'widgets', groups, ['example.com/v1', 'example.org/v1']],
  ])('webhook rules name %s', (_name, like, resources, expected) => {
    const rules = build([handlerOf({}, like)], resources)[0]!['rules'] as Array<Record<string, string[]>>
    expect(rules.map(({ apiGroups, apiVersions }) => `${apiGroups}/${apiVersions}`)).toEqual(expected)
  })

  test('a handler of an unknown resource has no webhook entry', () => {
    expect(build([handlerOf({}, 'gadgets'), handlerOf({ id: 'there' })]).map(({ name }) => name)).toEqual([
      'there.auto.kopf.dev',
    ])
  })
})

describe('webhook names', () => {
  test.each([
    ['some_fn', 'some-fn'],
    ['fn/spec.size', 'fn.spec.size'],
    ['camelCase', 'camelcase'],
    ['with space', 'with20space'],
    ['ä', 'c3a4'],
    ['_private_', 'private'],
    ['a//b..c', 'a.b.c'],
    ['***', '2a2a2a'],
    ['_', 'webhook'],
    ['\u{1f600}', 'f09f9880'],
  ])('the webhook name of the handler id %j is %j', (id, name) => {
    expect(namesOf(id)).toEqual([`${name}.auto.kopf.dev`])
  })

  test.each([
    ['x'.repeat(200)],
    [`${'x'.repeat(62)}_${'y'.repeat(10)}`],
    ['x/'.repeat(200)],
    [`fn/${Array.from({ length: 40 }, (_, index) => `field${index}`).join('.')}`],
    ['\u{1f600}'.repeat(50)],
  ])('the webhook name is valid for the handler id %j', (id) => {
    const [name] = namesOf(id)
    expect(name).toSatisfy(isSubdomain)
    expect(name).toMatch(/\.auto\.kopf\.dev$/)
  })

  test('webhook names differ also for similar handler ids', () => {
    const names = namesOf('fn', 'Fn', 'FN', 'fn-2', 'x'.repeat(63), 'x'.repeat(64), 'x/'.repeat(200), 'x/'.repeat(201))
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toSatisfy(isSubdomain)
    expect(names.slice(0, 4)).toEqual(['fn', 'fn-2', 'fn-3', 'fn-2-2'].map((name) => `${name}.auto.kopf.dev`))
  })
})

describe('webhook paths', () => {
  test.each([
    ['https://example.com', 'fn', 'https://example.com/fn'],
    ['https://example.com/', 'fn', 'https://example.com/fn'],
    ['https://example.com/base//', 'fn/spec.size', 'https://example.com/base/fn/spec.size'],
    ['https://example.com', 'with space?#', 'https://example.com/with%20space%3F%23'],
  ])('the webhook URL of %s and the handler id %j is %s', (url, id, expected) => {
    expect(atPath({ url }, id)).toEqual({ url: expected })
  })

  test('the webhook path of a service keeps its port and its CA bundle', () => {
    const service = { namespace: 'n', name: 's', path: '/base/' }
    expect(atPath({ service, caBundle: 'Q0E=' }, 'fn')).toEqual({
      service: { namespace: 'n', name: 's', port: 443, path: '/base/fn' },
      caBundle: 'Q0E=',
    })
    expect(atPath({ service: { ...service, port: 9443 } }, 'fn')).toMatchObject({ service: { port: 9443 } })
  })

  test.each(['fn', 'fn/spec.size', 'some-fn', 'a/b/c'])(
    'the webhook path of a service contains the handler id %j unchanged',
    (id) => {
      expect(servicePath(id)).toBe(id)
    },
  )

  test.each(['some_fn', 'camelCase', 'with space', 'a//b', '/a', 'a/', '-a', 'a.', 'x'.repeat(64), '***', '_', '..'])(
    'the webhook path of a service contains a valid name instead of the handler id %j',
    (id) => {
      expect(servicePath(id)).toMatch(/^[a-z0-9][-a-z0-9.]{0,40}-[0-9a-f]{8}$/)
      expect(servicePath(id).split('/').every(isSubdomain)).toBe(true)
    },
  )

  test('webhook paths of a service differ for different handler ids', () => {
    const ids = ['some_fn', 'some-fn', 'some/fn', 'Some-fn', 'some fn', 'some__fn']
    expect(new Set(ids.map(servicePath)).size).toBe(ids.length)
  })
})
