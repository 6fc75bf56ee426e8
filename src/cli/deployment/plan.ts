/** The deployment plan: created by draft.ts, read by the files that write the objects. */
import type { KubeObject } from '../../kube/objects.ts'
import type { PlannedRole } from '../../plan/plan-roles.ts'
import type { YamlComment } from '../../util/yaml.ts'

export interface DeploymentPlan {
  readonly name: string
  /** The namespace in which the operator runs. */
  readonly namespace: string
  /** Whether the operator has to run in exactly that namespace, since it also serves it, or since settings name it. */
  readonly isNamespaceFixed: boolean
  readonly image: string
  readonly replicas: number
  /** Whether replicas elect a leader. Otherwise two replicas must not run at the same time. */
  readonly isElected: boolean
  /** The options of the program that is the entry point of the image. */
  readonly args: readonly string[]
  readonly roles: readonly PlannedRole[]
  /** The name of the Secret with the signing keys of steps; undefined if none is used. */
  readonly stepSecret: string | undefined
  readonly graceSeconds: number
  /** The Service of the webhook server; undefined without webhooks, or if the port of the server is not known. */
  readonly webhooks: { readonly service: string; readonly port: number; readonly targetPort: number } | undefined
  /** Whether the operator has admission or conversion handlers. */
  readonly hasWebhooks: boolean
  /** The endpoints of --with-metrics and --with-dashboard. */
  readonly endpoints: readonly PlannedEndpoint[]
  /** The ports that clients other than the node connect to; undefined if not all are known. */
  readonly ports: readonly PlannedPort[] | undefined
}

/** An HTTPS endpoint whose clients the API server knows. */
export interface PlannedEndpoint {
  /** Also the name of the port of the container. */
  readonly name: 'metrics' | 'dashboard'
  /** As it is named in sentences. */
  readonly title: string
  readonly port: number
}

interface PlannedPort {
  readonly port: number
  /** The comment in the NetworkPolicy: for which clients the port is open. */
  readonly clients: string
}

/** An object with comments for its YAML. */
export interface CommentedObject {
  readonly object: Partial<KubeObject>
  readonly remarks?: readonly YamlComment[]
}

export function labelsOf({ name }: Pick<DeploymentPlan, 'name'>): Record<string, string> {
  return { 'app.kubernetes.io/name': name, 'app.kubernetes.io/component': 'operator' }
}
