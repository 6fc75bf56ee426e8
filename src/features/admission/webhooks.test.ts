import { describe, expect, test } from 'vitest'
import { ABSENT, PRESENT } from '../../core/handling/filters.ts'
import type { Handler } from '../../core/handling/handler.ts'
import { createHandler } from '../../core/handling/register.ts'
import type { Resource } from '../../kube/resources.ts'
import { atPath, buildWebhooks, servicePath } from './webhooks.ts'

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

function handlerOf(options: object, like: string = 'widgets', kind: 'validate' | 'mutate' = 'validate'): Handler {
  return createHandler(kind, like, { id: 'check', ...options }, () => {})
}

function build(handlers: readonly Handler[], resources: readonly Resource[] = [resource('widgets')]) {
  return buildWebhooks({ handlers, resources, suffix: 'auto.kopf.dev', clientConfig })
}

const namesOf = (...ids: string[]) => build(ids.map((id) => handlerOf({ id }))).map(({ name }) => name)

/** What the API server asks of the name of a webhook. */
const isSubdomain = (name: string) =>
  name.length <= 253 && name.split('.').every((label) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(label))

test('an entry has all that the API server would fill in', () => {
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
  ['side effects', {}, { sideEffects: 'None' }],
  ['side effects that there are', { sideEffects: true }, { sideEffects: 'NoneOnDryRun' }],
  ['failures', {}, { failurePolicy: 'Fail' }],
  ['failures that do not matter', { ignoreFailures: true }, { failurePolicy: 'Ignore' }],
  ['operations', { operations: ['UPDATE', 'CREATE'] }, { rules: [{ operations: ['UPDATE', 'CREATE'] }] }],
  ['a subresource', { subresource: 'status' }, { rules: [{ resources: ['widgets/status'] }] }],
  ['all subresources', { subresource: '*' }, { rules: [{ resources: ['widgets/*'] }] }],
  [
    'labels, as far as they are no functions',
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
  ['only functions', { labels: { d: () => true } }, { objectSelector: {} }],
  ['annotations, which cannot be selected by', { annotations: { a: 'x' } }, { objectSelector: {} }],
])('an entry tells of %s', (_name, options, expected) => {
  expect(build([handlerOf(options)])).toMatchObject([expected])
})

describe('rules', () => {
  const pods = [resource('pods', { group: '' }), resource('pods', { group: 'metrics.k8s.io' })]
  const versions = [resource('widgets'), resource('widgets', { version: 'v2', preferred: false })]
  const groups = [resource('widgets'), resource('widgets', { group: 'example.org' })]
  test.each<[string, string, readonly Resource[], readonly string[]]>([
    ['the core group before others', 'pods', pods, ['/v1']],
    ['the preferred version', 'widgets', versions, ['example.com/v1']],
    ['the version that was named', 'widgets.v2.example.com', versions, ['example.com/v2']],
    ['all groups that have the name', 'widgets', groups, ['example.com/v1', 'example.org/v1']],
  ])('name %s', (_name, like, resources, expected) => {
    const rules = build([handlerOf({}, like)], resources)[0]!['rules'] as Array<Record<string, string[]>>
    expect(rules.map(({ apiGroups, apiVersions }) => `${apiGroups}/${apiVersions}`)).toEqual(expected)
  })

  test('of what is not there make no entry', () => {
    expect(build([handlerOf({}, 'gadgets'), handlerOf({ id: 'there' })]).map(({ name }) => name)).toEqual([
      'there.auto.kopf.dev',
    ])
  })
})

describe('names', () => {
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
  ])('of %j are %j', (id, name) => {
    expect(namesOf(id)).toEqual([`${name}.auto.kopf.dev`])
  })

  test.each([
    ['x'.repeat(200)],
    [`${'x'.repeat(62)}_${'y'.repeat(10)}`],
    ['x/'.repeat(200)],
    [`fn/${Array.from({ length: 40 }, (_, index) => `field${index}`).join('.')}`],
    ['\u{1f600}'.repeat(50)],
  ])('are valid for any id, such as %j', (id) => {
    const [name] = namesOf(id)
    expect(name).toSatisfy(isSubdomain)
    expect(name).toMatch(/\.auto\.kopf\.dev$/)
  })

  test('differ also where ids are alike', () => {
    const names = namesOf('fn', 'Fn', 'FN', 'fn-2', 'x'.repeat(63), 'x'.repeat(64), 'x/'.repeat(200), 'x/'.repeat(201))
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toSatisfy(isSubdomain)
    expect(names.slice(0, 4)).toEqual(['fn', 'fn-2', 'fn-3', 'fn-2-2'].map((name) => `${name}.auto.kopf.dev`))
  })
})

describe('paths', () => {
  test.each([
    ['https://example.com', 'fn', 'https://example.com/fn'],
    ['https://example.com/', 'fn', 'https://example.com/fn'],
    ['https://example.com/base//', 'fn/spec.size', 'https://example.com/base/fn/spec.size'],
    ['https://example.com', 'with space?#', 'https://example.com/with%20space%3F%23'],
  ])('of %s and %j are %s', (url, id, expected) => {
    expect(atPath({ url }, id)).toEqual({ url: expected })
  })

  test('of a service come with its port, and with the certificates', () => {
    const service = { namespace: 'n', name: 's', path: '/base/' }
    expect(atPath({ service, caBundle: 'Q0E=' }, 'fn')).toEqual({
      service: { namespace: 'n', name: 's', port: 443, path: '/base/fn' },
      caBundle: 'Q0E=',
    })
    expect(atPath({ service: { ...service, port: 9443 } }, 'fn')).toMatchObject({ service: { port: 9443 } })
  })

  test.each(['fn', 'fn/spec.size', 'some-fn', 'a/b/c'])('of services have the id %j as it is', (id) => {
    expect(servicePath(id)).toBe(id)
  })

  test.each(['some_fn', 'camelCase', 'with space', 'a//b', '/a', 'a/', '-a', 'a.', 'x'.repeat(64), '***', '_', '..'])(
    'of services have a valid name in place of the id %j',
    (id) => {
      expect(servicePath(id)).toMatch(/^[a-z0-9][-a-z0-9.]{0,40}-[0-9a-f]{8}$/)
      expect(servicePath(id).split('/').every(isSubdomain)).toBe(true)
    },
  )

  test('of services differ where ids do', () => {
    const ids = ['some_fn', 'some-fn', 'some/fn', 'Some-fn', 'some fn', 'some__fn']
    expect(new Set(ids.map(servicePath)).size).toBe(ids.length)
  })
})
