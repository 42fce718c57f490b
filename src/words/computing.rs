texts! {
    /// Figures that take long to compute.
    ComputingText {
        title: "正在计算…", "Working it out…";
        text: "数据较多，需要几秒钟，完成后自动显示。", "There is a lot to read. The page appears by itself in a few seconds.";
        renewing: "正在更新，完成后自动显示。", "Newer figures are on their way and appear by themselves.";
    }
}
