import { ABSENT, Operator, PRESENT } from 'kopf'
import { afterAll, expect, test } from 'vitest'
import { buildWebhooks, type ConfigurationType } from '../../src/admission/build-webhooks.ts'
import type { Resource } from '../../src/kube/resources/resources.ts'
import { internalsOf } from '../../src/operator-internals.ts'
import type { Tree } from '../support/answers.ts'
import { useLab } from '../support/lab.ts'

const lab = useLab()
const api = '/apis/admissionregistration.k8s.io/v1'
const created: string[] = []
afterAll(async () => {
  for (const path of created) await lab.call('DELETE', path)
})

const ids = [
  'fn',
  'Fn',
  'camelCase',
  'some_fn',
  'fn/spec.size',
  'with space',
  'ä/ö',
  '___',
  'a//b',
  '..',
  '-x-',
  'x'.repeat(300),
  'x/'.repeat(200),
  '\u{1f600}'.repeat(80),
  '%2e%2e/..',
  '?#&',
]

/** The webhooks that the operator would write for these ids. */
function entriesOf(kind: ConfigurationType, clientConfig: object): readonly Tree[] {
  const kopf = new Operator()
  for (const id of ids) kopf.on[kind](lab.widgets, { id }, () => {})
  kopf.on[kind](lab.widgets, { id: 'labelled', labels: { a: 'b', c: PRESENT, d: ABSENT, e: () => true } }, () => {})
  kopf.on[kind](lab.widgets, { id: 'flagged', sideEffects: true, ignoreFailures: true }, () => {})
  kopf.on[kind](lab.widgets, { id: 'limited', operations: ['DELETE', 'CONNECT'], subresource: 'status' }, () => {})
  kopf.on[kind](lab.widgets, { id: 'unlimited', subresource: '*' }, () => {})
  const [group, version, plural] = lab.widgets
  const resource = { group, version, plural, kind: 'Widget', singular: 'widget', preferred: true, namespaced: true }
  const resources = [{ ...resource, shortcuts: [], categories: [], subresources: [], verbs: [] }] as readonly Resource[]
  return buildWebhooks({
    handlers: internalsOf(kopf).registry.ofCategory('admission'),
    resources,
    suffix: `${lab.namespace}.example.com`,
    clientConfig,
  })
}

test.each<[ConfigurationType, string, object]>([
  ['validate', 'a URL', { url: 'https://127.0.0.1:9/base' }],
  ['mutate', 'a URL', { url: 'https://127.0.0.1:9/' }],
  ['validate', 'a service', { service: { namespace: 'n', name: 's' } }],
  ['mutate', 'a service', { service: { namespace: 'n', name: 's', path: '/base', port: 9443 } }],
])('the API server accepts %s webhooks at %s and returns them unchanged', async (kind, where, config) => {
  const title = kind === 'validate' ? 'Validating' : 'Mutating'
  const name = `${kind}-${where.replace(' ', '-').toLowerCase()}.${lab.namespace}`
  const webhooks = entriesOf(kind, config)
  const { status, body } = await lab.call('POST', `${api}/${title.toLowerCase()}webhookconfigurations`, {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: `${title}WebhookConfiguration`,
    metadata: { name },
    webhooks,
  })
  if (status === 201) created.push(`${api}/${title.toLowerCase()}webhookconfigurations/${name}`)
  expect({ status, message: body['message'] }).toEqual({ status: 201, message: undefined })
  expect(body['webhooks']).toEqual(webhooks)
})
