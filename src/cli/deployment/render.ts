/** Renders a deployment plan as YAML with comments, in the order in which the objects are applied. */
import { toCrds } from '../../kube/crds/crd.ts'
import type { CustomResource } from '../../kube/resources/resources.ts'
import type { Operator } from '../../operator.ts'
import { packageVersion } from '../../util/process/package-files.ts'
import { formatYaml, formatYamlForPeople } from '../../util/yaml.ts'
import type { DraftArguments } from './draft.ts'
import { writeMonitoring, writeReviewAccess } from './observability/objects.ts'
import { type CommentedObject, type DeploymentPlan, labelsOf } from './plan.ts'
import { writeAccess } from './rbac.ts'
import { writeNetworkPolicy, writeWorkload } from './workload.ts'

export function render(operator: Operator, plan: DeploymentPlan, args: DraftArguments): string {
  const definitions = args.withCrds ? toCrds(operator.resources as readonly CustomResource<object>[]) : []
  const objects = [
    ...(args.createNamespace ? [writeNamespace(plan)] : []),
    ...writeAccess(plan),
    ...writeReviewAccess(plan),
    ...writeNetworkPolicy(plan),
    ...writeWorkload(plan),
    ...writeMonitoring(plan),
  ]
  const texts = [...definitions.map((one) => formatYaml(one)), ...objects.map(format)]
  const heading = `# The operator "${plan.name}", as printed by \`kopf manifests\` ${packageVersion()}.\n`
  return `${heading}${texts.join('---\n')}`.trimEnd()
}

function format({ object, remarks = [] }: CommentedObject): string {
  return formatYamlForPeople(object, remarks)
}

function writeNamespace(plan: DeploymentPlan): CommentedObject {
  const labels = { ...labelsOf(plan), 'pod-security.kubernetes.io/enforce': 'restricted' }
  return { object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: plan.namespace, labels } } }
}
