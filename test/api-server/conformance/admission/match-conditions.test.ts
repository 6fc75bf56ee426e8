/** CEL conditions under which a webhook is called (`matchConditions`). */
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Answer, Tree } from '../../../support/answers.ts'
import { useCluster } from '../../../support/cluster.ts'
import { expectFailure, expectInvalid, expectStatus, warningsOf } from '../../../support/expectations.ts'
import { object } from '../../../support/objects.ts'
import { patching, reviewed } from '../../../support/webhook-server.ts'
import { useWebhooks } from '../../../support/webhooks.ts'

const cluster = useCluster()
const webhooks = useWebhooks(cluster)
const widgets = () => cluster.custom('widgets')
const widget = (name: string, spec: Tree = {}) => object(`${cluster.group}/v1`, 'Widget', name, { spec })

beforeAll(() => cluster.install({ kind: 'Widget' }))
afterEach(() => webhooks.clear())

const rules = () => [
  { apiGroups: [cluster.group], apiVersions: ['v1'], operations: ['*'], resources: ['widgets'], scope: '*' },
]
const conditions = (...expressions: string[]) =>
  expressions.map((expression, index) => ({ name: `condition-${index}`, expression }))

/** Installs one webhook for each list of conditions. A called webhook returns its index as a warning. */
async function install(hooks: readonly string[][], rest: Tree = {}): Promise<void> {
  const named = hooks.map((expressions, index) => {
    webhooks.server.on(`/${index}`, ({ review }) => reviewed(review, { warnings: [String(index)] }))
    return webhooks.hook(`hook-${index}`, `/${index}`, {
      rules: rules(),
      matchConditions: conditions(...expressions),
      ...rest,
    })
  })
  await webhooks.install('Validating', 'conditions', ...named)
}

let count = 0
const next = () => `object-${++count}`
const asked = (answer: Answer) => warningsOf(answer).sort()

describe('match conditions of webhooks', () => {
  test('a webhook is called when its match conditions on the object hold', async () => {
    await install([
      ['object.spec.size > 1'],
      ['object.spec.size > 1', "object.metadata.name == 'nobody'"],
      ['has(object.spec.colour)'],
      ["!has(object.spec.colour) && object.kind == 'Widget' && object.apiVersion.endsWith('/v1')"],
      ["object.spec.?colour.orValue('red') == 'red'"],
      ["object.spec.list.exists(x, x == 'b')"],
    ])
    const answer = await cluster.api.post(widgets(), widget(next(), { size: 2, list: ['a', 'b'] }))
    expect(asked(answer)).toEqual(['0', '3', '4', '5'])
  })

  test('a webhook is called when its match conditions on the old object hold', async () => {
    await install([
      ['oldObject == null'],
      ['oldObject != null && object != null && object.spec.size > oldObject.spec.size'],
      ['object == null'],
    ])
    const name = next()
    expect(asked(await cluster.api.post(widgets(), widget(name, { size: 1 })))).toEqual(['0'])
    expect(asked(await cluster.api.mergePatch(`${widgets()}/${name}`, { spec: { size: 2 } }))).toEqual(['1'])
    expect(asked(await cluster.api.delete(`${widgets()}/${name}`))).toEqual(['2'])
  })

  test('a webhook is called when its match conditions on the request hold', async () => {
    await install([
      ["request.operation == 'CREATE'"],
      ["request.operation == 'UPDATE'"],
      [`request.namespace == '${cluster.namespace}' && request.resource.resource == 'widgets'`],
      ["request.kind.kind == 'Widget' && request.requestKind.version == 'v1' && !has(request.subResource)"],
      ['request.dryRun'],
      ["'system:masters' in request.userInfo.groups"],
      ["request.userInfo.username.startsWith('nobody')"],
      ["request.options.kind == 'CreateOptions'"],
    ])
    const answer = await cluster.api.post(widgets(), widget(next()))
    expect(asked(answer)).toEqual(['0', '2', '3', '5', '7'])
  })

  test('a webhook is called when its match conditions on the authorizer hold', async () => {
    await install([
      ["authorizer.group('').resource('pods').namespace('default').check('list').allowed()"],
      ["authorizer.requestResource.check('create').allowed()"],
      ["authorizer.path('/healthz').check('get').allowed() && authorizer.path('/x').check('get').reason() != 'y'"],
    ])
    expect(asked(await cluster.api.post(widgets(), widget(next())))).toEqual(['0', '1', '2'])
  })

  test('a mutating webhook whose match condition is false does not change the object', async () => {
    webhooks.server.on('/m', ({ review }) => reviewed(review, patching({ op: 'add', path: '/spec/seen', value: true })))
    const hook = (name: string, expression: string) =>
      webhooks.hook(name, '/m', { rules: rules(), matchConditions: conditions(expression), sideEffects: 'None' })
    await webhooks.install('Mutating', 'changing', hook('one', 'object.spec.mine == true'))
    const changed = expectStatus(await cluster.api.post(widgets(), widget(next(), { mine: true })), 201)
    const unchanged = expectStatus(await cluster.api.post(widgets(), widget(next(), { mine: false })), 201)
    expect([changed['spec'], unchanged['spec']]).toEqual([{ mine: true, seen: true }, { mine: false }])
  })
})

describe('errors of match conditions', () => {
  const fails = 'object.spec.nothing == 1'

  test('the API server answers 403 when the evaluation of a match condition fails', async () => {
    await install([[fails]])
    const name = next()
    const message = `widgets.${cluster.group} "${name}" is forbidden: expression '${fails}' resulted in error: no such key: nothing`
    const details = { name, group: cluster.group, kind: 'widgets' }
    expectFailure(await cluster.api.post(widgets(), widget(name)), 403, 'Forbidden', message, details)
  })

  test('no webhook is called when the evaluation of a match condition fails', async () => {
    await install([['true'], [fails]])
    const answer = await cluster.api.post(widgets(), widget(next()))
    expect([answer.status, asked(answer)]).toEqual([403, []])
  })

  test('a webhook with failurePolicy Ignore is skipped when the evaluation of its match condition fails', async () => {
    await install([[fails], ['true']], { failurePolicy: 'Ignore' })
    expect(asked(await cluster.api.post(widgets(), widget(next())))).toEqual(['1'])
  })

  test('an evaluation error of a match condition is ignored when another condition is false', async () => {
    await install([[fails, 'false']])
    expect(asked(await cluster.api.post(widgets(), widget(next())))).toEqual([])
  })
})

describe('invalid match conditions', () => {
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
  const field = 'webhooks[0].matchConditions[0]'

  test.each<[string, Tree, string]>([
    ['without an expression', { name: 'a', expression: ' ' }, `${field}.expression: Required value`],
    ['without a name', { expression: 'true' }, `${field}.name: Required value`],
    [
      'that is not a boolean',
      { name: 'a', expression: '1' },
      `${field}.expression: Invalid value: "1": must evaluate to bool but got int`,
    ],
    [
      'with an undeclared variable',
      { name: 'a', expression: 'nobody == 1' },
      `${field}.expression: Invalid value: "nobody == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nobody' (in container '')\n | nobody == 1\n | ^`,
    ],
    [
      'with an unknown field of the request',
      { name: 'a', expression: 'request.nothing == 1' },
      `${field}.expression: Invalid value: "request.nothing == 1": compilation failed: ERROR: <input>:1:8: undefined field 'nothing'\n | request.nothing == 1\n | .......^`,
    ],
  ])('a webhook configuration is invalid with a match condition %s', async (_, condition, cause) => {
    const hook = webhooks.hook('one', '/one', { rules: rules(), matchConditions: [condition] })
    const name = `wrong.${cluster.group}`
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingWebhookConfiguration',
      metadata: { name },
      webhooks: [hook],
    }
    const subject = { kind: 'ValidatingWebhookConfiguration', group: 'admissionregistration.k8s.io', name }
    expectInvalid(await cluster.api.post(path, body), subject, cause)
  })
})
