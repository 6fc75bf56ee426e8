/**
 * The form in which the real server validates a CRD: what all versions have in common stands once at the top, and errors
 * have their paths from there (`spec.validation.openAPIV3Schema`), even if there is but one version.
 */
import { isDeepEqual } from '../../util/equality.ts'
import type { CrdColumn, CrdSchema, CrdSelectableField, CrdSpec, CrdSubresources, CrdVersion } from './definition.ts'

export interface InternalSpec {
  /** Without what stands at the top. */
  readonly versions: readonly CrdVersion[]
  readonly validation: CrdSchema | undefined
  readonly subresources: CrdSubresources | undefined
  readonly additionalPrinterColumns: readonly CrdColumn[]
  readonly selectableFields: readonly CrdSelectableField[]
}

export function toInternal(spec: CrdSpec): InternalSpec {
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
