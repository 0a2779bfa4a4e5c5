// A card's small menu that saves its contents: SVG, PNG, CSV, JSON.
import type { ButtonHTMLAttributes } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ViewerContext } from "../context";
import { kindsOf, type Exporter, type ExportKind } from "../export/exporter";
import { paper } from "../export/paper";
import { copiesPictures, copyLatex, copyPicture, save } from "../export/save";
import { listen } from "../listen";
import "../styles/export.css";

const WIDTHS: { inches: number | null; words: string }[] = [
  { inches: null, words: "Width as shown" },
  { inches: 3.3, words: "One column (3.3 in)" },
  { inches: 6.8, words: "Two columns (6.8 in)" },
];

const Item = (attributes: ButtonHTMLAttributes) => (
  <button type="button" role="menuitem" tabIndex={-1} {...attributes} />
);

/** A menu that a button opens: its keys, and what closes it. */
function useMenu() {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // Runs before any other event, so that keys go to the menu at once.
  useLayoutEffect(() => {
    if (!open) return;
    root.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const away = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    return listen({ pointerdown: away });
  }, [open]);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const items = [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    const to: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
    if (event.key === "Escape") close();
    else if (event.key === "Tab") setOpen(false);
    else if (event.key in to) items.at(to[event.key] % items.length)?.focus();
    else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };
  return { open, setOpen, root, button, close, onKeyDown };
}

interface ExportMenuProps {
  card: string;
  title: string;
  exporter: Exporter;
}

export function ExportMenu(props: ExportMenuProps) {
  const { open, setOpen, root, button, close, onKeyDown } = useMenu();
  const label = `Save ${props.title}`;
  return (
    <div class="export" ref={root}>
      <button
        type="button"
        class="quiet"
        ref={button}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={label}
        title="Save as a file"
        onClick={() => setOpen(!open)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" || open) return;
          event.preventDefault();
          setOpen(true);
        }}
      >
        <span aria-hidden="true">⤓</span>
      </button>
      {open && (
        <div class="menu" role="menu" aria-label={label} onKeyDown={onKeyDown}>
          <Files {...props} close={close} />
          {props.exporter.svg && <PaperChoices />}
        </div>
      )}
    </div>
  );
}

function Files({ card, title, exporter, close }: ExportMenuProps & { close: () => void }) {
  const viewer = useContext(ViewerContext);
  const choose = async (kind: ExportKind) => {
    close();
    if (!viewer) return;
    const { announcement } = viewer;
    try {
      announcement.value = `Saved ${await save(kind, { card, title }, exporter, viewer)}`;
    } catch (error) {
      announcement.value = `${title} could not be saved: ${error instanceof Error ? error.message : String(error)}`;
    }
  };
  const copy = async (what: string, done: Promise<boolean>) => {
    close();
    const said = (await done) ? `Copied the ${what}` : `This browser does not let the page copy the ${what}`;
    if (viewer) viewer.announcement.value = said;
  };
  return (
    <>
      {kindsOf(exporter).map((kind) => (
        <Item key={kind} data-kind={kind} onClick={() => void choose(kind)}>
          {kind.toUpperCase()}
        </Item>
      ))}
      {exporter.svg && viewer && copiesPictures() && (
        <Item onClick={() => void copy("picture", copyPicture({ card, title }, exporter, viewer))}>Copy PNG</Item>
      )}
      {exporter.rows && <Item onClick={() => void copy("table", copyLatex(exporter))}>Copy LaTeX table</Item>}
    </>
  );
}

const PaperChoices = () => (
  <>
    <hr />
    <Item
      role="menuitemcheckbox"
      aria-checked={paper.captions.value}
      onClick={() => (paper.captions.value = !paper.captions.value)}
    >
      Title and caption
    </Item>
    {WIDTHS.map(({ inches, words }) => (
      <Item
        role="menuitemradio"
        aria-checked={paper.inches.value === inches}
        key={words}
        onClick={() => (paper.inches.value = inches)}
      >
        {words}
      </Item>
    ))}
  </>
);
