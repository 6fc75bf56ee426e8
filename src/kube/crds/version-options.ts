/** The options of `defineResource` that only the CRD needs: what one of its versions says besides names and schemas. Types only. */
import type { PathsOf, ValueAt } from '../resources/path-types.ts'

/** An object of unknown type: any path is allowed. */
type AnyObject = Record<string, unknown>

/** The paths whose values have the type `V` and that begin with `Root`. Any path in open types. */
type PathsTo<T, V, Root extends string> =
  string extends PathsOf<T> ? string : PathWithValue<T, Extract<PathsOf<T>, `${Root}.${string}`>, V>

type PathWithValue<T, P, V> = P extends unknown
  ? unknown extends ValueAt<T, P>
    ? P
    : NonNullable<ValueAt<T, P>> extends V
      ? P
      : never
  : never

/** The types of printer columns. kubectl prints a `date` as the time since then: `5m`. */
export type ColumnType = 'string' | 'integer' | 'number' | 'boolean' | 'date'

/** The formats of printer columns that the API server accepts. */
type ColumnFormat = 'int32' | 'int64' | 'float' | 'double' | 'byte' | 'date' | 'date-time' | 'password'

/** A column of `kubectl get`. */
export interface PrinterColumn<T = AnyObject> {
  /** The heading: `Phase`. kubectl prints it in upper case. */
  readonly name: string
  /**
   * The path of the field: `'status.phase'`. A path that begins with a dot is a JSONPath of Kubernetes and is not checked:
   * `'.status.conditions[?(@.type=="Ready")].status'`.
   */
  readonly path: PathsOf<T> | `.${string}`
  /** The type of the values. Default: the type in the schema; `date` for strings of the format `date-time`; otherwise `string`. */
  readonly type?: ColumnType
  /** A column with a priority above 0 is shown by `kubectl get -o wide` only. Default: 0. */
  readonly priority?: number
  /** A description of the column. kubectl does not print it, other clients may. Default: none. */
  readonly description?: string
  /** The format of the values, for clients. Default: none. */
  readonly format?: ColumnFormat
}

/** The fields behind the subresource `scale`, which `kubectl scale` and the HorizontalPodAutoscaler use. */
export interface ScaleFields<T = AnyObject> {
  /** The field with the desired number of replicas: `'spec.replicas'`. */
  readonly specReplicas: PathsTo<T, number, 'spec'>
  /** The field with the actual number of replicas: `'status.replicas'`. */
  readonly statusReplicas: PathsTo<T, number, 'status'>
  /**
   * The field with the label selector of the pods as a string: `'status.selector'`. The HorizontalPodAutoscaler needs it. Default: none.
   */
  readonly selector?: PathsTo<T, string, 'spec' | 'status'>
}

/** Why a rule refuses an object, for programs: the `reason` of the cause in the response. */
type RuleReason = 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate'

/** A CEL rule of the CRD: the API server refuses objects for which the expression is false. */
export interface CelRule<T = AnyObject> {
  /** The CEL expression. `self` is the object, `oldSelf` the object before an update: `'self.spec.min <= self.spec.max'`. */
  readonly rule: string
  /** The message for refused objects. Default: `failed rule: …`. */
  readonly message?: string
  /** A CEL expression that returns the message. If it fails, `message` is used. Default: none. */
  readonly messageExpression?: string
  /** The reason for programs. Default: `FieldValueInvalid`. */
  readonly reason?: RuleReason
  /** The field that the response names: `'spec.min'`. A path that begins with a dot is not checked. Default: the whole object. */
  readonly fieldPath?: PathsTo<T, unknown, 'spec' | 'status'> | `.${string}`
  /** Whether a rule with `oldSelf` also runs when the object is created; `oldSelf` is an optional value then. Default: false. */
  readonly optionalOldSelf?: boolean
}

/** The options of `defineResource` that only the CRD needs. All but `labels` and `annotations` are about this version of the resource. */
export interface CrdVersionOptions<T = AnyObject> {
  /** The description of the resource, shown by `kubectl explain`. Default: none. */
  readonly description?: string
  /**
   * The columns of `kubectl get` after the name. Without this option: `Ready` and, with `-o wide`, `Reason` if the status schema has
   * `conditions`; `Phase` if it has `phase`; and `Age`. No column is added to those that you list, also not `Age`
   * (`{ name: 'Age', path: 'metadata.creationTimestamp' }`). An empty list leaves the columns to the API server: only `Age`.
   */
  readonly printerColumns?: readonly PrinterColumn<T>[]
  /** The fields of the subresource `scale`, for `kubectl scale` and the HorizontalPodAutoscaler. Default: no such subresource. */
  readonly scale?: ScaleFields<T>
  /**
   * CEL rules for the whole object. Rules for a field are in its schema: zod's `.meta({ 'x-kubernetes-validations': [{ rule: … }] })`.
   * Default: none.
   */
  readonly rules?: readonly CelRule<T>[]
  /**
   * The fields by which objects can be selected: `kubectl get databases --field-selector spec.engine=mysql`. At most 8 strings,
   * integers or booleans of `spec` or `status`. Default: none; `metadata.name` and `metadata.namespace` are always selectable.
   */
  readonly selectableFields?: ReadonlyArray<PathsTo<T, string | number | boolean, 'spec' | 'status'>>
  /** Whether the version is deprecated; clients get a warning with every response. A string is the text of the warning. Default: false. */
  readonly deprecated?: boolean | string
  /** Whether the API server serves this version. Default: true. */
  readonly served?: boolean
  /**
   * Whether objects are stored in this version. Exactly one version of a resource is stored. Default: `kopf crd` chooses the version
   * with the highest priority in Kubernetes, `toCrd` the first one.
   */
  readonly storage?: boolean
  /**
   * Whether the API server keeps fields beside `spec` and `status` that no schema declares, such as `data`. Fields in `spec` are kept if
   * its schema allows them: zod's `z.looseObject`. Default: false. A resource without schemas keeps all fields.
   */
  readonly preserveUnknownFields?: boolean
  /** Labels of the CRD itself, not of the objects. Those of all versions are merged. Default: none. */
  readonly labels?: Readonly<Record<string, string>>
  /** Annotations of the CRD itself, not of the objects. Those of all versions are merged. Default: none. */
  readonly annotations?: Readonly<Record<string, string>>
}
