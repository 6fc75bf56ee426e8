/**
 * The internal form in which the real server validates a CRD: settings common to all versions are at the top level, and errors
 * have paths from there (`spec.validation.openAPIV3Schema`), even if there is only one version.
 */
import { isDeepEqual } from '../../util/json/deep-equal.ts'
import type {
  CrdColumn,
  CrdSchema,
  CrdSelectableField,
  CrdSubresources,
  CrdVersion,
  CustomResourceDefinitionSpec,
} from './definition.ts'

export interface InternalSpec {
  /** Without the settings that moved to the top level. */
  readonly versions: readonly CrdVersion[]
  readonly validation: CrdSchema | undefined
  readonly subresources: CrdSubresources | undefined
  readonly additionalPrinterColumns: readonly CrdColumn[]
  readonly selectableFields: readonly CrdSelectableField[]
}

export function toInternal(spec: CustomResourceDefinitionSpec): InternalSpec {
  const versions = spec.versions ?? []
  const common = <K extends keyof CrdVersion>(key: K): CrdVersion[K] | undefined => {
    const [first, ...rest] = versions.map((version) => version[key])
    return rest.every((other) => isDeepEqual(other, first)) ? first : undefined
  }
  const validation = common('schema')
  const subresources = common('subresources')
  const additionalPrinterColumns = common('additionalPrinterColumns')
  const selectableFields = common('selectableFields')
  return {
    versions: versions.map((version) => {
      const own = { ...version }
      if (validation) delete own.schema
      if (subresources) delete own.subresources
      if (additionalPrinterColumns) delete own.additionalPrinterColumns
      if (selectableFields) delete own.selectableFields
      return own
    }),
    validation,
    subresources,
    additionalPrinterColumns: additionalPrinterColumns ?? [],
    selectableFields: selectableFields ?? [],
  }
}
