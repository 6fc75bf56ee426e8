/**
 * Writes src/server/openapi/definitions.generated.ts: the OpenAPI schemas of the built-in resources and of every schema that they
 * refer to, as the real control plane (tools/envtest) publishes them. Run by maintainers after the pin has moved:
 * `npx tsx --conditions=source tools/openapi/record.ts`.
 */
import { fileURLToPath } from 'node:url'
import { builtinResources } from '../../src/server/builtins/resources.ts'
import { crdDefinitionResource } from '../../src/server/crds/crd-resource.ts'
import { common, schemaName } from '../../src/server/openapi/names.ts'
import { reviewResources } from '../../src/server/reviews/reviews.ts'
import { type ApiTarget, callApi } from '../envtest/api.ts'
import { startControlPlane } from '../envtest/control-plane.ts'
import { writePackedModule } from '../packed-module.ts'

type Schemas = Record<string, unknown>

const target = fileURLToPath(new URL('../../src/server/openapi/definitions.generated.ts', import.meta.url))

const resources = [
  ...builtinResources(() => new Date(0)),
  crdDefinitionResource,
  ...reviewResources({} as Parameters<typeof reviewResources>[0]),
]

function documentOf({ group, version }: (typeof resources)[number]): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`
}

async function readSchemas(api: ApiTarget): Promise<Schemas> {
  const all: Schemas = {}
  for (const path of new Set(resources.map(documentOf))) {
    const { body } = await callApi(api, { path: `/openapi/v3/${path}` })
    Object.assign(all, (body as { components: { schemas: Schemas } }).components.schemas)
  }
  return all
}

function referencesIn(schema: unknown): string[] {
  return [...JSON.stringify(schema).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]!)
}

function select(all: Schemas): Schemas {
  const lists = resources.filter(({ verbs }) => verbs.includes('list')).map((one) => schemaName(one, 'List'))
  const queue = [...resources.map((one) => schemaName(one)), ...lists, ...Object.values(common)]
  const found = new Set<string>()
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (found.has(name)) continue
    if (all[name] === undefined) throw new Error(`The real server does not describe ${name}`)
    found.add(name)
    queue.push(...referencesIn(all[name]))
  }
  // DeleteOptions lists the kinds of the document it is in, so the list differs between documents.
  delete (all[common.deleteOptions] as Schemas)['x-kubernetes-group-version-kind']
  return Object.fromEntries([...found].sort().map((name) => [name, all[name]]))
}

await using plane = await startControlPlane()
const schemas = select(await readSchemas({ url: plane.url, caPem: plane.caPem, user: plane.admin }))
writePackedModule({ target, tool: 'tools/openapi/record.ts', name: 'packedDefinitions', value: schemas })
