/** The plan as YAML: in the order in which it is read and applied, with a word on what is not plain. */
import { toCrds } from '../../kube/crd.ts'
import type { CustomResource } from '../../kube/resources.ts'
import type { Operator } from '../../operator.ts'
import { packageVersion } from '../../util/version.ts'
import { formatYaml, formatYamlForPeople } from '../../util/yaml.ts'
import { writeAccess } from './access.ts'
import type { DraftArguments } from './draft.ts'
import { writeNetworkPolicy } from './network.ts'
import { type DeploymentPlan, type Documented, labelsOf } from './plan.ts'
import { writeWorkload } from './workload.ts'

export function render(operator: Operator, plan: DeploymentPlan, args: DraftArguments): string {
  const definitions = args.withCrds ? toCrds(operator.resources as readonly CustomResource<object>[]) : []
  const objects = [
    ...(args.createNamespace ? [writeNamespace(plan)] : []),
    ...writeAccess(plan),
    ...writeNetworkPolicy(plan),
    ...writeWorkload(plan),
  ]
  const texts = [...definitions.map((one) => formatYaml(one)), ...objects.map(format)]
  const heading = `# The operator "${plan.name}", as printed by \`kopf manifests\` ${packageVersion()}.\n`
  return `${heading}${texts.join('---\n')}`.trimEnd()
}

function format({ object, remarks = [] }: Documented): string {
  return formatYamlForPeople(object, remarks)
}

function writeNamespace(plan: DeploymentPlan): Documented {
  const labels = { ...labelsOf(plan), 'pod-security.kubernetes.io/enforce': 'restricted' }
  return { object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: plan.namespace, labels } } }
}
