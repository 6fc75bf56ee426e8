/** The manifests that pages show: those of the template's operator, and those of the tutorial's operator. */
import { draft } from '../../src/cli/deployment/draft.ts'
import { discoverForPlan } from '../../src/cli/deployment/known-resources.ts'
import { render } from '../../src/cli/deployment/render.ts'
import type { Operator } from '../../src/operator.ts'

type Grants = Parameters<typeof draft>[1]['grants']

/** As `npm run manifests` of a new project prints them. */
export async function printTemplateManifests(): Promise<string> {
  return print(await load('templates/operator/operator.ts'), 'registry.example.com/my-operator:0.1.0', [])
}

/** As `kopf manifests ephemeral.ts` of the tutorial prints them, with a permission to delete objects. */
export async function printTutorialManifests(): Promise<string> {
  const resource = 'ephemeralvolumeclaims.example.com'
  const rule = { text: `delete ${resource}`, verbs: ['delete'], resource, subresource: undefined, names: undefined }
  return print(await load('examples/tutorial/6-next/ephemeral.ts'), 'registry.example.com/ephemeral-volumes:0.1.0', [
    rule,
  ])
}

/** Imported by a computed name: the types of examples are checked by a project of their own. */
async function load(file: string): Promise<Operator> {
  const module = (await import(new URL(`../../${file}`, import.meta.url).href)) as { readonly default: Operator }
  return module.default
}

async function print(operator: Operator, image: string, grants: Grants): Promise<string> {
  const args = { installNamespace: 'default', withCrds: true, image }
  const { plan } = draft(operator, {
    ...args,
    folder: '',
    scope: { clusterwide: true },
    peering: {},
    resources: await discoverForPlan(operator, {}),
    grants,
    calls: { clear: [], unclear: [], unread: [] },
  })
  return `\`\`\`yaml\n${render(operator, plan, args)}\n\`\`\``
}
