// page.html?file=URL&path=/group: one file in H5Web, opened at a group.
import React from "react";
import { createRoot } from "react-dom/client";
import { App } from "@h5web/app";
import { H5WasmBufferProvider } from "@h5web/h5wasm";
import "@h5web/app/styles.css";

const asked = new URLSearchParams(location.search);
const answer = await fetch(asked.get("file"));
const buffer = await answer.arrayBuffer();
createRoot(document.getElementById("root")).render(
  <H5WasmBufferProvider filename="results.h5" buffer={buffer}>
    <App initialPath={asked.get("path")} sidebarOpen={false} />
  </H5WasmBufferProvider>,
);
