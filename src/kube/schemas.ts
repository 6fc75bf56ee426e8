/**
 * What a schema library must speak to be understood here: Standard Schema for types and validation, and Standard JSON
 * Schema (https://standardschema.dev) for definitions of custom resources. Types only, so that no library is needed.
 */

/** Any schema of zod, valibot, arktype and others. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': StandardProperties<Input, Output>
}

interface StandardProperties<Input = unknown, Output = Input> {
  readonly version: 1
  readonly vendor: string
  /** Never there at run time. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
  readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
  /** Only where the library can also say it as JSON Schema. */
  readonly jsonSchema?: JsonSchemaConverter | undefined
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** Both throw where a type or the target cannot be written as JSON Schema. */
interface JsonSchemaConverter {
  readonly input: (options: { readonly target: string }) => Record<string, unknown>
  readonly output: (options: { readonly target: string }) => Record<string, unknown>
}

/** What the schema makes of its input: with the defaults filled in. */
export type OutputOf<S extends StandardSchemaV1> = NonNullable<S['~standard']['types']>['output']

/** The schemas of arktype are functions. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const properties = (value as Partial<StandardSchemaV1>)['~standard']
  return typeof properties === 'object' && properties !== null && properties.version === 1
}
