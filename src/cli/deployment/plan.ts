/** What is to be deployed, once all is known: filled by commands/manifests.ts, read by those who write the objects. */
import type { KubeObject } from '../../kube/objects.ts'
import type { PlannedRole } from '../../operator.ts'
import type { YamlRemark } from '../../util/yaml.ts'

export interface DeploymentPlan {
  readonly name: string
  /** Where the operator itself runs. */
  readonly namespace: string
  readonly image: string
  readonly replicas: number
  /** Whether replicas elect a leader: otherwise no two may run at once. */
  readonly isElected: boolean
  /** What the command in the image is told. */
  readonly args: readonly string[]
  readonly roles: readonly PlannedRole[]
  /** The Secret for the keys that sign the results of steps; undefined where none is used. */
  readonly stepSecret: string | undefined
  readonly graceSeconds: number
  /** Undefined where there are none, or where it is not known on which port the server listens. */
  readonly webhooks: { readonly service: string; readonly port: number; readonly targetPort: number } | undefined
  /** The ports that others than the node connect to; undefined where they are not all known. */
  readonly ports: readonly number[] | undefined
}

/** An object, and what to say beside it. */
export interface Documented {
  readonly object: Partial<KubeObject>
  readonly remarks?: readonly YamlRemark[]
}

export function labelsOf({ name }: Pick<DeploymentPlan, 'name'>): Record<string, string> {
  return { 'app.kubernetes.io/name': name, 'app.kubernetes.io/component': 'operator' }
}
