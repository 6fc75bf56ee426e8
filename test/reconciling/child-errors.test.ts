/** Errors of children: each is reported, none blocks the other children, and each is retried. */
import { Operator } from 'kopf'
import { expect, test } from 'vitest'
import { settle } from '../support/handled.ts'
import type { Body } from '../support/lab.ts'
import { configMap, useReconcilingLab } from './reconciling-support.ts'

const { lab, reconciling } = useReconcilingLab()

function conditionOf(body: Body): Record<string, unknown> | undefined {
  const conditions: Array<Record<string, unknown>> = body.status?.['conditions'] ?? []
  return conditions.find(({ type }) => type === 'ChildrenApplied')
}

const accountSchema = {
  type: 'object',
  properties: { spec: { type: 'object', properties: { password: { type: 'string', pattern: '^[0-9]+$' } } } },
}

test('a refused child does not block the others, and a condition names it until it is accepted', async () => {
  const kopf = new Operator()
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, ({ spec }) => {
    const names = ['p-a', spec['valid'] ? 'p-b' : 'p_b', 'p-c']
    return { children: names.map((name) => configMap(name)) }
  })
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('third', { spec: { valid: false } })
  await reconciling.untilThere('p-a')
  await reconciling.untilThere('p-c')
  const body = await lab.untilObject('third', (found) => conditionOf(found) !== undefined)
  expect(conditionOf(body)).toMatchObject({ status: 'False', reason: 'ChildRefused', observedGeneration: 1 })
  expect(conditionOf(body)?.['message']).toMatch(/^Cannot apply ConfigMap "p_b": .*422 Invalid/)
  await lab.untilLogged(`Reconciler 'reconcile' failed temporarily: Cannot apply ConfigMap "p_b"`)
  await lab.patch('third', { spec: { valid: true } })
  await reconciling.untilThere('p-b')
  const after = await lab.untilObject('third', (found) => conditionOf(found)?.['status'] === 'True')
  expect(conditionOf(after)).toMatchObject({ reason: 'Applied' })
  await settle(lab)
  transport.requests.length = 0
  await lab.patch('third', { metadata: { labels: { touched: 'yes' } } })
  await settle(lab)
  expect(transport.writes()).toEqual([])
})

test.each<[string, () => object]>([
  [
    'throws before its children are written',
    () => {
      throw new Error('the database is down')
    },
  ],
  ['returns no children', () => ({ requeueAfter: '1m' })],
])('the condition keeps its problem while the function %s, also after a restart', async (_, interrupted) => {
  const operator = () => {
    const kopf = new Operator()
    kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, ({ spec }) =>
      spec['interrupted'] ? interrupted() : { children: [configMap(spec['valid'] ? 'p-d' : 'p_d')] },
    )
    return kopf
  }
  const running = await lab.start(operator())
  await lab.create('fourth', { spec: { valid: false } })
  const first = conditionOf(await lab.untilObject('fourth', (found) => conditionOf(found) !== undefined))
  const { reason, message } = first!
  expect(reason).toBe('ChildRefused')
  await lab.patch('fourth', { spec: { interrupted: true, valid: true } })
  await settle(lab)
  expect(conditionOf(await lab.get('fourth'))).toMatchObject({ status: 'False', reason, message })
  await lab.stop(running)
  await lab.start(operator())
  await lab.patch('fourth', { metadata: { labels: { touched: 'yes' } } })
  await settle(lab)
  expect(conditionOf(await lab.get('fourth'))).toMatchObject({ status: 'False', reason, message })
  await lab.patch('fourth', { spec: { interrupted: null } })
  await lab.untilObject('fourth', (found) => conditionOf(found)?.['status'] === 'True')
})

test('a child of a missing kind does not block the others, and is created as soon as the kind exists', async () => {
  const kopf = new Operator()
  const gadget = { apiVersion: `${lab.group}/v1`, kind: 'Gadget', metadata: { name: 'later' } }
  kopf.reconcile(lab.widgets, { owns: ['configmaps', [lab.group, 'v1', 'gadgets']] }, () => {
    return { children: [configMap('now'), gadget] }
  })
  await lab.start(kopf)
  await lab.create('early', { spec: {} })
  await reconciling.untilThere('now')
  const body = await lab.untilObject('early', (found) => conditionOf(found) !== undefined)
  expect(conditionOf(body)).toMatchObject({ status: 'False', reason: 'KindMissing' })
  expect(conditionOf(body)?.['message']).toContain('Gadget "later" waits for its kind')
  await lab.install({ kind: 'Gadget' })
  await lab.until(async () => (await lab.call('GET', lab.path('later', 'gadgets'))).status === 200)
  await lab.untilObject('early', (found) => conditionOf(found)?.['status'] === 'True')
})

test('contention over a field is logged with both managers, and corrected less and less often', async () => {
  const kopf = new Operator({ name: 'red-painter' })
  kopf.reconcile(lab.widgets, { owns: ['configmaps'] }, () => ({ children: [configMap('wall', { color: 'red' })] }))
  const transport = lab.record()
  await lab.start(kopf, { transport })
  await lab.create('contested', { spec: {} })
  await reconciling.untilThere('wall')
  const paint = async () => {
    await lab.call(
      'PATCH',
      `${reconciling.path('wall')}?fieldManager=blue-painter`,
      { data: { color: 'blue' } },
      mergePatch,
    )
  }
  for (let times = 1; times <= 3; times += 1) {
    await paint()
    await reconciling.until('wall', ({ data }) => (data as Record<string, string>)['color'] === 'red')
  }
  await paint()
  const words = '"red-painter" and "blue-painter" both write data.color of ConfigMap "wall"'
  await lab.untilLogged(words)
  const body = await lab.untilObject('contested', (found) => conditionOf(found) !== undefined)
  expect(conditionOf(body)).toMatchObject({ status: 'False', reason: 'ChildContested', message: words })
  const before = lab.clock.now()
  await reconciling.until('wall', ({ data }) => (data as Record<string, string>)['color'] === 'red')
  expect(lab.clock.now() - before).toBeGreaterThan(500)
  await paint()
  await reconciling.until('wall', ({ data }) => (data as Record<string, string>)['color'] === 'red')
  expect(transport.writes('/wall')).toHaveLength(6)
  expect(lab.logs.filter((line) => line.includes(words))).toHaveLength(1)
})

const mergePatch = 'application/merge-patch+json'

test.each([
  [
    'a child of a kind that is not owned',
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } },
    'not owned: add it to "owns"',
  ],
  ['a child without a name', { apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }, 'has no "metadata.name"'],
  ['a child without a kind', { metadata: { name: 'x' } }, 'has an "apiVersion" and a "kind"'],
  [
    'a child in another namespace',
    configMap('x', {}, { namespace: 'default' }),
    'is in the namespace "default": it cannot be owned',
  ],
  [
    'a cluster-scoped child',
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } },
    'is cluster-scoped: it cannot be owned',
  ],
  [
    'a child of another version',
    { apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'x' } },
    'has the apiVersion v2',
  ],
  ['a child that is not an object', 42, 'an entry that is not an object'],
])('the result of a reconciler with %s is an error that is logged and not retried', async (what, child, words) => {
  const kopf = new Operator()
  let calls = 0
  kopf.reconcile(lab.widgets, { owns: ['configmaps', 'namespaces'] }, () => {
    calls += 1
    return { children: [child as never] }
  })
  await lab.start(kopf)
  await lab.create(what.replaceAll(' ', '-'), { spec: {} })
  await lab.untilLogged(words)
  expect(
    lab.logs.some((line) =>
      line.includes(`Reconciler 'reconcile' failed permanently: Cannot use the result of the reconciler`),
    ),
  ).toBe(true)
  await settle(lab)
  expect(calls).toBe(1)
})

test('a reconciler gets its children by kind and by name', async () => {
  const kopf = new Operator()
  const seen: unknown[] = []
  kopf.reconcile(lab.widgets, { owns: ['configmaps', 'secrets'] }, ({ children, spec }) => {
    seen.push({
      size: children.size,
      all: [...children].map(({ metadata }) => metadata.name),
      maps: children.of('configmaps').map(({ metadata }) => metadata.name),
      color: children.get('configmaps', 'c-b')?.['data']?.['color'],
      none: children.get('secrets', 'c-b'),
    })
    if (spec['step'] === 0) return { children: [configMap('c-b', { color: 'red' }), configMap('c-a')] }
    return undefined
  })
  await lab.start(kopf)
  await reconciling.create(configMap('c-foreign'))
  await lab.create('parent', { spec: { step: 0 } })
  await reconciling.untilThere('c-a')
  await lab.patch('parent', { spec: { step: 1 } })
  await lab.until(() => seen.length >= 3)
  await settle(lab)
  expect([seen[0], seen.at(-1)]).toEqual([
    { size: 0, all: [], maps: [], color: undefined, none: undefined },
    { size: 2, all: ['c-a', 'c-b'], maps: ['c-a', 'c-b'], color: 'red', none: undefined },
  ])
  expect(await reconciling.exists('c-b')).toBe(true)
  await reconciling.delete('c-foreign')
})

test('a refusal that quotes a secret of a child is reported without it in the log and in the condition', async () => {
  // The API server responds to a number with 500, which is retried by default.
  const kopf = new Operator({ settings: { networking: { errorBackoffs: [0.1] } } })
  await lab.install({ kind: 'Account', plural: 'accounts', schema: accountSchema })
  kopf.reconcile(lab.widgets, { owns: ['secrets', [lab.group, 'v1', 'accounts']] }, ({ name }) => ({
    children: [
      // The API server rejects a number and quotes it in the message.
      { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { pin: 86753091 } },
      { apiVersion: `${lab.group}/v1`, kind: 'Account', metadata: { name }, spec: { password: 'canary-of-account' } },
    ],
  }))
  await lab.start(kopf)
  await lab.create('discreet', {})
  const body = await lab.untilObject('discreet', (found) => conditionOf(found) !== undefined)
  const message = String(conditionOf(body)?.['message'])
  expect(message).toMatch(
    /Cannot apply Secret "discreet": \d+.*: the message quotes a secret of it, and is not repeated/,
  )
  expect(message).toContain('Cannot apply Account "discreet": 422 Invalid: spec.password (FieldValueInvalid)')
  for (const canary of ['86753091', 'canary-of-account']) {
    expect(message).not.toContain(canary)
    expect(lab.logs.filter((line) => line.includes(canary))).toEqual([])
  }
})
