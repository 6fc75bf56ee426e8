/**
 * What files had in them when they were last applied: whoever takes a label, or an object, out of a file wants it gone.
 * Kept in memory, so that what others have made is never taken for something that was in a file.
 */
import { type KubeObject, parseGroupVersion } from '../../kube/objects.ts'
import type { Manifest } from '../manifests.ts'
import { flatten } from './applying.ts'

type Objects = ReadonlyMap<string, KubeObject>

export class AppliedObjects {
  readonly #byFile = new Map<string | undefined, Objects>()

  /** The object as its file had it before. */
  before(object: KubeObject): KubeObject | undefined {
    return this.#all().get(keyOf(object))
  }

  /** These files have this in them from now on. Answers with what is in no file any more, the latest first. */
  replace(manifests: readonly Manifest[]): KubeObject[] {
    const before = manifests.flatMap(({ file }) => [...(this.#byFile.get(file) ?? [])])
    for (const { file, objects } of manifests) {
      this.#byFile.set(file, new Map(objects.flatMap(flatten).map((object) => [keyOf(object), object])))
    }
    const now = this.#all()
    return before
      .filter(([key]) => !now.has(key))
      .map(([, object]) => object)
      .reverse()
  }

  #all(): Objects {
    return new Map([...this.#byFile.values()].flatMap((objects) => [...objects]))
  }
}

/** Another version is the same object; and so is one whose namespace is not said. */
function keyOf({ apiVersion, kind, metadata }: KubeObject): string {
  const group = parseGroupVersion(apiVersion)?.group ?? apiVersion
  return [group, kind, metadata?.namespace ?? '', metadata?.name ?? ''].join(' ')
}
