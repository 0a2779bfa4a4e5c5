// In one column the controls scroll away with the page: then the method stays at the top, and the way back to the others.
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { oneColumn } from "../theme";
import { MethodRadios, type MethodChoiceProps } from "./method_choice";

export function QuickBar(props: MethodChoiceProps) {
  const above = useSignal(false);
  const narrow = oneColumn.value;
  useEffect(() => {
    const controls = document.getElementById("controls");
    if (!narrow || !controls || typeof IntersectionObserver !== "function") return;
    const observer = new IntersectionObserver(([{ isIntersecting, boundingClientRect }]) => {
      above.value = !isIntersecting && boundingClientRect.bottom <= 0;
    });
    observer.observe(controls);
    return () => observer.disconnect();
  }, [narrow]);
  if (!narrow || !above.value) return null;
  const back = () => {
    document.getElementById("controls")?.scrollIntoView({ block: "start" });
    document.querySelector<HTMLElement>("#methods input:checked")?.focus({ preventScroll: true });
  };
  return (
    <div class="quick" role="group" aria-label="Method (other controls are scrolled out of view)">
      <fieldset class="segments one-line">
        <legend class="visually-hidden">Method</legend>
        <MethodRadios {...props} name="quick-method" />
      </fieldset>
      <button type="button" class="quiet" id="to-controls" onClick={back}>
        ↑ All controls
      </button>
    </div>
  );
}
