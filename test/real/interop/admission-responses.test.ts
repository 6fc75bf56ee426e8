/** The same admission reviews, sent to Python's Kopf and to this package with the same handlers: the responses are equivalent. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Json } from '../../../src/util/json/json.ts'
import type { JsonPatchOperation } from '../../../src/util/json/json-patch.ts'
import type { Answer, Tree } from '../../support/answers.ts'
import { Api } from '../../support/api.ts'
import { useCluster } from '../../support/cluster.ts'
import { applyJsonPatch } from '../../support/json-patch.ts'
import { type Language, useKopf } from './paired-operators.ts'
import { type Serving, startServing } from './webhook-servers.ts'

const real = inject('realCluster')
const cluster = useCluster()
useKopf()

const languages: readonly Language[] = ['python', 'ours']
const servings: Serving[] = []
const servers: Api[] = []

beforeAll(async () => {
  await cluster.install({ kind: 'Widget', subresources: { status: {} } })
  const { group, namespace } = cluster
  for (const language of languages) {
    const kubeconfig = real.kubeconfigs.operator
    const serving = await startServing(language, { namespace, group, kubeconfig, managed: '' })
    servings.push(serving)
    servers.push(new Api({ url: serving.url, caPem: serving.caPem, credentials: {} }))
  }
  for (const server of servers) await untilAnswering(server)
}, 90_000)

afterAll(async () => {
  for (const server of servers) server.close()
  for (const { operator, clear } of servings) {
    await operator.stop()
    await clear()
  }
})

async function untilAnswering(server: Api): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 50))) {
    const status = await server.post('/check_size', toReview({})).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 200) return
    if (Date.now() > deadline) throw new Error(servings.map(({ operator }) => operator.output).join('\n'))
  }
}

function widget({ metadata, ...fields }: Tree): Tree {
  const known = { name: 'widget', namespace: cluster.namespace, uid: 'd4c5', ...(metadata as Tree) }
  return { apiVersion: `${cluster.group}/v1`, kind: 'Widget', metadata: known, spec: { size: 1 }, ...fields }
}

function toReview({ apiVersion = 'admission.k8s.io/v1', ...request }: Tree): Tree {
  const { group, namespace } = cluster
  const kind = { group, version: 'v1', kind: 'Widget' }
  const resource = { group, version: 'v1', resource: 'widgets' }
  return {
    apiVersion,
    kind: 'AdmissionReview',
    request: {
      uid: 'a1b2',
      kind,
      resource,
      requestKind: kind,
      requestResource: resource,
      name: 'widget',
      namespace,
      operation: 'CREATE',
      userInfo: { username: 'somebody', groups: [] },
      object: widget({}),
      oldObject: null,
      dryRun: false,
      options: null,
      ...request,
    },
  }
}

const labelled = (name: string, spec: Tree = { size: 1 }) => ({
  object: widget({ metadata: { labels: { case: name } }, spec }),
})
const deleted = (name: string) => ({
  operation: 'DELETE',
  object: null,
  oldObject: widget({ metadata: { labels: { case: name } } }),
})
const grown = (size: number) => ({
  operation: 'UPDATE',
  object: widget({ spec: { size } }),
  oldObject: widget({ spec: { size: 1 } }),
})

interface Question {
  readonly path: string
  readonly request: () => Tree
}

const ask = (path: string, request: () => Tree): Question => ({ path, request })

const questions: Readonly<Record<string, Question>> = {
  'an allowed request': ask('/check_size', () => ({})),
  'a denied request with a code': ask('/check_size', () => ({ object: widget({ spec: { size: 101 } }) })),
  'a denied request without a code': ask('/wordless', () => labelled('error')),
  'a permanent error': ask('/permanent', () => labelled('error')),
  'a temporary error': ask('/temporary', () => labelled('error')),
  'an error of any other type': ask('/mistake', () => labelled('error')),
  warnings: ask('/warns', () => labelled('warns')),
  'a dry run': ask('/warns', () => ({ ...labelled('warns'), dryRun: true })),
  'patches of all kinds': ask('/change', () => ({
    object: widget({
      metadata: { labels: { case: 'change', old: 'no' }, annotations: { note: 'x' } },
      spec: { size: 1, gone: 1, nested: { a: { c: 1, d: 1 } }, list: [1, 2] },
    }),
  })),
  'patches of missing fields': ask('/change', () => labelled('change')),
  'patches by functions': ask('/edit', () => labelled('edit', { size: 1, list: [1] })),
  'a patch that changes nothing': ask('/same', () => labelled('same')),
  'a patch together with a denial': ask('/both', () => labelled('both')),
  'an update that matches the field filter': ask('/grown/spec.size', () => grown(5)),
  'an update that does not match the field filter': ask('/grown/spec.size', () => grown(6)),
  'a deletion': ask('/warns', () => deleted('warns')),
  'a deletion at a mutating handler': ask('/change', () => deleted('change')),
  'a deletion at a mutating handler for deletions': ask('/farewell', () => deleted('farewell')),
  'labels that do not match the filter': ask('/warns', () => labelled('other')),
  'a subresource at a handler of that subresource': ask('/statuses', () => ({
    ...grown(1),
    object: widget({ status: { phase: 'Bad' } }),
    subResource: 'status',
  })),
  'a subresource at a handler of the object': ask('/check_size', () => ({
    ...grown(101),
    subResource: 'status',
  })),
  'a subresource at a handler of all subresources': ask('/every%3Apart/of.it', () => ({
    ...labelled('part'),
    subResource: 'status',
  })),
  'a v1beta1 review': ask('/check_size', () => ({ apiVersion: 'admission.k8s.io/v1beta1' })),
}

test.each(Object.entries(questions))(
  'both webhook servers give the same response to %s',
  async (_, { path, request }) => {
    const review = toReview(request())
    const [python, ours] = await Promise.all(servers.map((server) => server.post(path, review)))
    expect(ours!.status).toBe(200)
    expect(toMeaning(ours!, review)).toEqual(toMeaning(python!, review))
  },
)

test('the webhook server answers 404 to a path without a handler, where Kopf allows the request', async () => {
  const review = toReview({ object: widget({ spec: { size: 101 } }) })
  const [python, ours] = await Promise.all(servers.map((server) => server.post('/', review)))
  expect([python!.status, ours!.status]).toEqual([200, 404])
})

const unfit: ReadonlyArray<readonly [string, () => unknown, number]> = [
  ['malformed JSON', () => '{', 400],
  ['a review without a user', () => toReview({ userInfo: undefined }), 400],
  ['a review without an object', () => toReview({ object: null }), 400],
  ['a resource without handlers', () => toReview({ resource: { group: '', version: 'v1', resource: 'pods' } }), 404],
]

test.each(unfit)('both webhook servers answer %s with the same status', async (_, toBody, status) => {
  const answers = await Promise.all(servers.map((server) => server.post('/check_size', toBody())))
  expect(answers.map((answer) => answer.status)).toEqual([status, status])
})

/** Compares patches by their result on the object, since their order of operations differs. */
function toMeaning({ status, body }: Answer, review: Tree): Tree {
  const { response, ...rest } = body as unknown as { readonly response: Tree }
  const { patch, ...others } = response
  const { object, oldObject } = review['request'] as { readonly object: Json; readonly oldObject: Json }
  const edits = JSON.parse(Buffer.from((patch as string) ?? 'W10=', 'base64').toString()) as JsonPatchOperation[]
  return { status, ...rest, response: others, changed: applyJsonPatch(object ?? oldObject, edits) }
}
