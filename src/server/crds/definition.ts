/** Types of a CustomResourceDefinition (apiextensions.k8s.io/v1) after decode.ts: known fields only, required fields present. */
import type { KubeObject } from '../../kube/objects.ts'
import type { JsonSchema } from '../schema/structural.ts'

export interface CrdNames {
  plural: string
  singular?: string
  shortNames?: string[]
  kind: string
  listKind?: string
  categories?: string[]
}

interface CrdScale {
  specReplicasPath: string
  statusReplicasPath: string
  labelSelectorPath?: string
}

export interface CrdSubresources {
  status?: Record<string, never>
  scale?: CrdScale
}

export interface CrdColumn {
  name: string
  type: string
  format?: string
  description?: string
  priority?: number
  jsonPath: string
}

export interface CrdSelectableField {
  jsonPath: string
}

export interface CrdSchema {
  openAPIV3Schema?: JsonSchema
}

export interface CrdVersion {
  name: string
  served: boolean
  storage: boolean
  deprecated?: boolean
  deprecationWarning?: string
  schema?: CrdSchema
  subresources?: CrdSubresources
  additionalPrinterColumns?: CrdColumn[]
  selectableFields?: CrdSelectableField[]
}

export interface CrdServiceReference {
  namespace: string
  name: string
  path?: string
  port?: number
}

export interface CrdClientConfig {
  url?: string
  service?: CrdServiceReference
  caBundle?: string
}

export interface CrdConversion {
  strategy: string
  webhook?: { clientConfig?: CrdClientConfig; conversionReviewVersions: string[] | null }
}

export interface CustomResourceDefinitionSpec {
  group: string
  names: CrdNames
  scope: string
  versions: CrdVersion[] | null
  conversion?: CrdConversion
  preserveUnknownFields?: boolean
}

export interface CrdCondition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  /** Null until it is set. */
  lastTransitionTime: string | null
  reason?: string
  message?: string
  observedGeneration?: number
}

export interface CrdStatus {
  conditions: CrdCondition[] | null
  acceptedNames: CrdNames
  storedVersions: string[] | null
  observedGeneration?: number
}

export interface CustomResourceDefinition extends KubeObject {
  spec: CustomResourceDefinitionSpec
  status: CrdStatus
}

export function isConditionTrue({ status }: CustomResourceDefinition, type: string): boolean {
  return status.conditions?.find((condition) => condition.type === type)?.status === 'True'
}
