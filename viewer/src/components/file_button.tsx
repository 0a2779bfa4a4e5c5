// A button that opens the system's file dialog for one file.
import { useRef } from "preact/hooks";

interface FileButtonProps {
  /** the button's id is `${id}-open`, the field's `${id}-file` */
  id: string;
  label: string;
  accept: string;
  /** what the file is, for screen readers */
  name: string;
  class?: string;
  take: (file: File) => void;
}

export function FileButton({ id, label, accept, name, class: classes, take }: FileButtonProps) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class={classes} id={`${id}-open`} onClick={() => field.current?.click()}>
        {label}
      </button>
      <input
        ref={field}
        id={`${id}-file`}
        type="file"
        accept={accept}
        class="visually-hidden"
        tabIndex={-1}
        aria-label={name}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = "";
          if (file) take(file);
        }}
      />
    </>
  );
}
