/** The manifests of the template's operator, as `npm run manifests` of a new project prints them. Shown in docs/operate/deploying.md. */
import { draft } from '../../src/cli/deployment/draft.ts'
import { discoverForPlan } from '../../src/cli/deployment/known-resources.ts'
import { render } from '../../src/cli/deployment/render.ts'
import type { Operator } from '../../src/operator.ts'

export async function printTemplateManifests(): Promise<string> {
  // Named by a variable: the template is compiled with the options of a new project, not with those of this one.
  const template = '../../templates/operator/operator.ts'
  const { default: operator } = (await import(template)) as { default: Operator }
  const args = { installNamespace: 'default', withCrds: true, image: 'registry.example.com/my-operator:0.1.0' }
  const { plan } = draft(operator, {
    ...args,
    folder: 'my-operator',
    scope: { clusterwide: true },
    peering: {},
    resources: await discoverForPlan(operator, {}),
    grants: [],
    calls: { clear: [], unclear: [] },
  })
  return `\`\`\`yaml\n${render(operator, plan, args)}\n\`\`\``
}
