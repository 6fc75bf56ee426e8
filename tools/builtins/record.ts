/**
 * Sends the manifests of cases/ to the real control plane (tools/envtest) and writes the responses to
 * src/server/builtins/testdata. Run by maintainers after the pin has moved: `npx tsx tools/builtins/record.ts`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type ApiTarget, callApi } from '../envtest/api.ts'
import { startControlPlane } from '../envtest/control-plane.ts'
import type { Case } from './cases/case.ts'
import { coreCases } from './cases/core.ts'
import { otherCases } from './cases/others.ts'
import { podCases } from './cases/pods.ts'
import { workloadCases } from './cases/workloads.ts'

const namespace = 'recorded'
const target = fileURLToPath(new URL('../../src/server/builtins/testdata/', import.meta.url))
const tables: ReadonlyArray<readonly [file: string, cases: readonly Case[]]> = [
  ['pods', podCases],
  ['core', coreCases],
  ['workloads', workloadCases],
  ['others', otherCases],
]

/** Managed fields contain times, which differ in each run, and are tested elsewhere. */
function stripManagedFields(body: unknown): unknown {
  const metadata = (body as { metadata?: Record<string, unknown> } | undefined)?.metadata
  if (metadata) delete metadata.managedFields
  return body
}

function collectionPath(entry: Case): string {
  const prefix = entry.resource.startsWith('v1/') ? '/api/v1' : `/apis/${entry.resource.replace(/\/[^/]+$/, '')}`
  const plural = entry.resource.replace(/^.*\//, '')
  return entry.clusterScoped ? `${prefix}/${plural}` : `${prefix}/namespaces/${namespace}/${plural}`
}

async function record(api: ApiTarget, entry: Case, index: number): Promise<object> {
  const path = collectionPath(entry)
  const body = JSON.parse(JSON.stringify(entry.body).replaceAll('$namespace', namespace)) as Record<string, unknown>
  const name = `case-${index}`
  const manifest = { ...body, metadata: { ...(body.metadata as object), name } }
  const created = await callApi(api, { method: 'POST', path: `${path}?fieldValidation=Strict`, body: manifest })
  const result = { name: entry.name, resource: entry.resource, manifest, created: stripManagedFields(created.body) }
  if (created.status === 415 || created.status === 404) throw new Error(`${entry.name}: ${created.text}`)
  if (!entry.patch) return result
  const updated = await callApi(api, {
    method: 'PATCH',
    path: `${path}/${name}${entry.status ? '/status' : ''}?fieldValidation=Strict`,
    body: entry.patch,
    contentType: 'application/merge-patch+json',
  })
  return {
    ...result,
    patch: entry.patch,
    ...(entry.status && { status: true }),
    updated: stripManagedFields(updated.body),
  }
}

await using plane = await startControlPlane()
const api: ApiTarget = { url: plane.url, caPem: plane.caPem, user: plane.admin }
await callApi(api, { method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: namespace } } })
// Pods need the default service account, which a controller creates in each new namespace.
for (let ready = false; !ready; ) {
  ready = (await callApi(api, { path: `/api/v1/namespaces/${namespace}/serviceaccounts/default` })).status === 200
}
mkdirSync(target, { recursive: true })
for (const [file, cases] of tables) {
  const answers: object[] = []
  for (const [index, entry] of cases.entries()) answers.push(await record(api, entry, index))
  // Long runs of "x" are replaced by their length, to keep the file small.
  const text = JSON.stringify(answers, undefined, 1).replace(/x{1000,}/g, (run) => `<${run.length} x>`)
  writeFileSync(`${target}${file}.json`, `${text}\n`)
  console.log(`${file}: ${answers.length}`)
}
