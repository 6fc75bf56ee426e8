/** Types of the pod fields that the validation reads, after decoding. */
import type { IntOrString, LabelSelectorSpec } from '../checks.ts'

export interface Amounts {
  readonly [resource: string]: string
}

export interface Resources {
  readonly limits?: Amounts
  readonly requests?: Amounts
}

export interface EnvSource {
  readonly fieldRef?: { readonly apiVersion?: string; readonly fieldPath?: string }
  readonly resourceFieldRef?: { readonly resource?: string; readonly containerName?: string }
  readonly configMapKeyRef?: { readonly name?: string; readonly key?: string }
  readonly secretKeyRef?: { readonly name?: string; readonly key?: string }
  readonly fileKeyRef?: object
}

export interface ProbeHandler {
  readonly exec?: { readonly command?: readonly string[] }
  readonly httpGet?: {
    readonly path?: string
    readonly port: IntOrString
    readonly scheme?: string
    readonly httpHeaders?: ReadonlyArray<{ readonly name: string }>
  }
  readonly tcpSocket?: { readonly port: IntOrString }
  readonly grpc?: { readonly port: number }
  readonly sleep?: { readonly seconds: number }
}

export interface Probe extends ProbeHandler {
  readonly initialDelaySeconds?: number
  readonly timeoutSeconds?: number
  readonly periodSeconds?: number
  readonly successThreshold?: number
  readonly failureThreshold?: number
  readonly terminationGracePeriodSeconds?: number
}

export interface ContainerPort {
  readonly name?: string
  readonly containerPort: number
  readonly hostPort?: number
  readonly hostIP?: string
  readonly protocol?: string
}

interface VolumeMount {
  readonly name: string
  readonly mountPath: string
  readonly subPath?: string
  readonly subPathExpr?: string
  readonly mountPropagation?: string
}

export interface Container {
  readonly name: string
  readonly image?: string
  readonly imagePullPolicy?: string
  readonly terminationMessagePolicy?: string
  readonly ports?: readonly ContainerPort[]
  readonly env?: ReadonlyArray<{ readonly name: string; readonly value?: string; readonly valueFrom?: EnvSource }>
  readonly envFrom?: ReadonlyArray<{
    readonly prefix?: string
    readonly configMapRef?: { readonly name?: string }
    readonly secretRef?: { readonly name?: string }
  }>
  readonly volumeMounts?: readonly VolumeMount[]
  readonly volumeDevices?: ReadonlyArray<{ readonly name: string; readonly devicePath: string }>
  readonly resources?: Resources
  readonly livenessProbe?: Probe
  readonly readinessProbe?: Probe
  readonly startupProbe?: Probe
  readonly lifecycle?: { readonly postStart?: ProbeHandler; readonly preStop?: ProbeHandler }
  readonly restartPolicy?: string
  readonly securityContext?: { readonly privileged?: boolean }
}

export interface KeyToPath {
  readonly key?: string
  readonly path?: string
  readonly mode?: number
}

export interface Volume {
  readonly name: string
  readonly emptyDir?: { readonly sizeLimit?: string }
  readonly hostPath?: { readonly path?: string; readonly type?: string }
  readonly secret?: {
    readonly secretName?: string
    readonly defaultMode?: number
    readonly items?: readonly KeyToPath[]
  }
  readonly configMap?: { readonly name?: string; readonly defaultMode?: number; readonly items?: readonly KeyToPath[] }
  readonly nfs?: { readonly server?: string; readonly path?: string }
  readonly persistentVolumeClaim?: { readonly claimName?: string }
  readonly [source: string]: unknown
}

export interface Toleration {
  readonly key?: string
  readonly operator?: string
  readonly value?: string
  readonly effect?: string
  readonly tolerationSeconds?: number
}

export interface PodSpec {
  readonly containers: readonly Container[] | null
  readonly initContainers?: readonly Container[]
  readonly ephemeralContainers?: readonly Container[]
  readonly volumes?: readonly Volume[]
  readonly restartPolicy?: string
  readonly dnsPolicy?: string
  readonly nodeSelector?: Readonly<Record<string, string>>
  readonly nodeName?: string
  readonly hostNetwork?: boolean
  readonly serviceAccountName?: string
  readonly terminationGracePeriodSeconds?: number
  readonly activeDeadlineSeconds?: number
  readonly hostname?: string
  readonly subdomain?: string
  readonly priorityClassName?: string
  readonly runtimeClassName?: string
  readonly preemptionPolicy?: string
  readonly tolerations?: readonly Toleration[]
  readonly hostAliases?: ReadonlyArray<{ readonly ip: string; readonly hostnames?: readonly string[] }>
  readonly readinessGates?: ReadonlyArray<{ readonly conditionType: string }>
  readonly schedulingGates?: ReadonlyArray<{ readonly name: string }>
  readonly topologySpreadConstraints?: ReadonlyArray<{
    readonly maxSkew: number
    readonly topologyKey: string
    readonly whenUnsatisfiable: string
    readonly labelSelector?: LabelSelectorSpec
  }>
}

export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: PodSpec
}
