/** The same reviews, posted to Python's Kopf and to ours with the same handlers: the answers say the same. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import type { Json } from '../../../src/util/json.ts'
import type { JsonPatchOperation } from '../../../src/util/json-diff.ts'
import type { Answer, Tree } from '../../support/answers.ts'
import { Api } from '../../support/api.ts'
import { useCluster } from '../../support/cluster.ts'
import { applyJsonPatch } from '../../support/json-patch.ts'
import { type Language, useKopf } from './support.ts'
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
  'what a handler lets pass': ask('/check_size', () => ({})),
  'what it refuses, with a code': ask('/check_size', () => ({ object: widget({ spec: { size: 101 } }) })),
  'what it refuses without a code': ask('/wordless', () => labelled('error')),
  'a permanent error': ask('/permanent', () => labelled('error')),
  'a temporary error': ask('/temporary', () => labelled('error')),
  'an error of any other kind': ask('/mistake', () => labelled('error')),
  warnings: ask('/warns', () => labelled('warns')),
  'a dry run': ask('/warns', () => ({ ...labelled('warns'), dryRun: true })),
  'changes of all kinds': ask('/change', () => ({
    object: widget({
      metadata: { labels: { case: 'change', old: 'no' }, annotations: { note: 'x' } },
      spec: { size: 1, gone: 1, nested: { a: { c: 1, d: 1 } }, list: [1, 2] },
    }),
  })),
  'changes of what is not there yet': ask('/change', () => labelled('change')),
  'edits by functions': ask('/edit', () => labelled('edit', { size: 1, list: [1] })),
  'a change to what is there already': ask('/same', () => labelled('same')),
  'changes together with a refusal': ask('/both', () => labelled('both')),
  'an update that a filter of the field lets in': ask('/grown/spec.size', () => grown(5)),
  'an update that it does not': ask('/grown/spec.size', () => grown(6)),
  'a deletion': ask('/warns', () => deleted('warns')),
  'a deletion, asked of who mutates': ask('/change', () => deleted('change')),
  'a deletion, asked of who mutates on deletions alone': ask('/farewell', () => deleted('farewell')),
  'labels of somebody else': ask('/warns', () => labelled('other')),
  'a subresource, asked of who reviews it': ask('/statuses', () => ({
    ...grown(1),
    object: widget({ status: { phase: 'Bad' } }),
    subResource: 'status',
  })),
  'a subresource, asked of who reviews the object': ask('/check_size', () => ({
    ...grown(101),
    subResource: 'status',
  })),
  'a subresource, asked of who reviews all': ask('/every%3Apart/of.it', () => ({
    ...labelled('part'),
    subResource: 'status',
  })),
  'the older version': ask('/check_size', () => ({ apiVersion: 'admission.k8s.io/v1beta1' })),
}

test.each(Object.entries(questions))('%s', async (_, { path, request }) => {
  const review = toReview(request())
  const [python, ours] = await Promise.all(servers.map((server) => server.post(path, review)))
  expect(ours!.status).toBe(200)
  expect(toMeaning(ours!, review)).toEqual(toMeaning(python!, review))
})

test('no handler in the path is refused, although Kopf allows it: no request goes through unasked', async () => {
  const review = toReview({ object: widget({ spec: { size: 101 } }) })
  const [python, ours] = await Promise.all(servers.map((server) => server.post('/', review)))
  expect([python!.status, ours!.status]).toEqual([200, 404])
})

const unfit: ReadonlyArray<readonly [string, () => unknown, number]> = [
  ['no JSON', () => '{', 400],
  ['a review of nobody', () => toReview({ userInfo: undefined }), 400],
  ['a review of nothing', () => toReview({ object: null }), 400],
  ['a resource that nobody reviews', () => toReview({ resource: { group: '', version: 'v1', resource: 'pods' } }), 404],
]

test.each(unfit)('%s is answered with the same status', async (_, toBody, status) => {
  const answers = await Promise.all(servers.map((server) => server.post('/check_size', toBody())))
  expect(answers.map((answer) => answer.status)).toEqual([status, status])
})

/** Two patches say the same when they make the same of the object; in what order they do it is nobody's business. */
function toMeaning({ status, body }: Answer, review: Tree): Tree {
  const { response, ...rest } = body as unknown as { readonly response: Tree }
  const { patch, ...others } = response
  const { object, oldObject } = review['request'] as { readonly object: Json; readonly oldObject: Json }
  const edits = JSON.parse(Buffer.from((patch as string) ?? 'W10=', 'base64').toString()) as JsonPatchOperation[]
  return { status, ...rest, response: others, changed: applyJsonPatch(object ?? oldObject, edits) }
}
